/** OpenSSH's sftp does with the server what people do with it. */
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { peerTest } from '../../../support/run/peer-test.ts';
import { sftp } from './openssh-client.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const test = await peerTest('sftp');

/** Bytes of a file that does not fit into 32 bits. */
const LARGE_BYTES = 5 * 1024 ** 3;

const places = (t: ExecutionContext) => ({ local: temporaryDirectory(t, 0o777), remote: temporaryDirectory(t, 0o777) });
const done = { status: 0, stdout: '', stderr: '' };

test('files of all sizes around the sizes of requests come back as they were', async (t) => {
  const at = places(t);
  const sizes = [0, 1, 32_767, 32_768, 32_769, 261_119, 261_120, 261_121, 3_000_000];
  const contents = new Map(sizes.map((size) => [`of-${size}`, randomBytes(size)]));
  for (const [name, bytes] of contents) writeFileSync(join(at.local, name), bytes);

  const run = await sftp(
    t,
    [...contents.keys()].flatMap((name) => [`put ${name}`, `get ${name} back-${name}`]),
    at,
  );

  t.deepEqual(run, done);
  for (const [name, bytes] of contents) {
    t.true(readFileSync(join(at.remote, name)).equals(bytes), name);
    t.true(readFileSync(join(at.local, `back-${name}`)).equals(bytes), name);
  }
});

test('small requests, and many of them at once, come back in order', async (t) => {
  const at = places(t);
  const bytes = randomBytes(2_000_000);
  writeFileSync(join(at.local, 'file'), bytes);

  t.deepEqual(await sftp(t, ['put file', 'get file back'], { ...at, words: ['-B', '1000', '-R', '512'] }), done);

  t.true(readFileSync(join(at.local, 'back')).equals(bytes));
});

test('a deep tree goes there and back with its modes, times and links', async (t) => {
  const at = places(t);
  plant(join(at.local, 'tree'));

  t.like(await sftp(t, ['put -rp tree', 'get -rp tree back'], at), { status: 0, stderr: '' });

  const planted = treeOf(join(at.local, 'tree'));
  t.deepEqual(treeOf(join(at.remote, 'tree')), planted);
  t.deepEqual(treeOf(join(at.local, 'back')), planted);
});

test('a transfer that was cut goes on where it stopped, also beyond 4 GiB, without moving what is there', async (t) => {
  const at = places(t);
  const tail = randomBytes(100_000);
  sparse(join(at.local, 'up'), LARGE_BYTES, tail);
  sparse(join(at.remote, 'up'), LARGE_BYTES);
  sparse(join(at.remote, 'down'), LARGE_BYTES, tail);
  sparse(join(at.local, 'down'), LARGE_BYTES);

  t.deepEqual(await sftp(t, ['reput up', 'reget down'], at), done);

  for (const path of [join(at.remote, 'up'), join(at.local, 'down')]) {
    t.is(statSync(path).size, LARGE_BYTES + tail.length);
    t.true(tailOf(path, tail.length).equals(tail), path);
  }
});

test('names are bytes: those that are no UTF-8, and awkward ones, come through every request', async (t) => {
  const at = places(t);
  const odd = Buffer.from([0x66, 0xff, 0xfe, 0x80]);
  const names = [
    odd,
    Buffer.from([0xc3, 0x28]),
    Buffer.from('Zürich ☂.txt'),
    Buffer.from('new\nline'),
    Buffer.from('-dash'),
    Buffer.from(' blank '),
    Buffer.alloc(255, 0xe9),
  ];
  for (const name of names) writeFileSync(Buffer.concat([Buffer.from(`${at.local}/`), name]), name);
  const listed = (directory: string) =>
    readdirSync(Buffer.from(directory), 'buffer')
      .map((name) => name.toString('latin1'))
      .toSorted();

  const run = await sftp(
    t,
    [
      'put -r . tree',
      'get -r tree .',
      'cd tree',
      Buffer.concat([Buffer.from('rename "'), odd, Buffer.from([0x22, 0x20, 0xfe])]),
    ],
    at,
  );

  t.like(run, { status: 0, stderr: '' });
  t.deepEqual(listed(join(at.local, 'tree')), names.map((name) => name.toString('latin1')).toSorted());
  t.deepEqual(
    listed(join(at.remote, 'tree')),
    [...names.slice(1).map((name) => name.toString('latin1')), '\xFE'].toSorted(),
  );
});

test('what people type does what it says', async (t) => {
  const at = places(t);
  writeFileSync(join(at.remote, 'file'), 'content', { mode: 0o644 });

  const run = await sftp(
    t,
    [
      'mkdir one',
      'mkdir one/two',
      'rename file one/moved',
      'ln -s one/moved soft',
      'ln one/moved hard',
      'chmod 4750 one/moved',
      'cd one/two',
      'pwd',
      'cd ..',
      'rmdir two',
      'cp moved copy',
      `chown ${process.getuid?.() ?? 0} moved`,
    ],
    at,
  );

  t.deepEqual(run, { ...done, stdout: `Remote working directory: ${at.remote}/one/two\n` });
  t.deepEqual(readdirSync(at.remote).toSorted(), ['hard', 'one', 'soft']);
  t.deepEqual(readdirSync(join(at.remote, 'one')).toSorted(), ['copy', 'moved']);
  t.is(readlinkSync(join(at.remote, 'soft')), 'one/moved');
  t.is(statSync(join(at.remote, 'hard')).nlink, 2);
  t.is(readFileSync(join(at.remote, 'one/copy'), 'utf8'), 'content');
});

test('ls -la is that of ls: kinds, modes, owners, sizes and dates, with . and ..', async (t) => {
  const at = places(t);
  const { username } = userInfo();
  writeFileSync(join(at.remote, 'old'), 'twelve bytes');
  chmodSync(join(at.remote, 'old'), 0o6711);
  utimesSync(join(at.remote, 'old'), 86_400 * 365, 86_400 * 365);
  mkdirSync(join(at.remote, 'sub'));
  chmodSync(join(at.remote, 'sub'), 0o1777);
  symlinkSync('nowhere', join(at.remote, 'soft'));

  const { stdout } = await sftp(t, ['ls -la'], at);

  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/\s+/u));
  t.deepEqual(lines.map((words) => words.at(-1) ?? '').toSorted(), ['.', '..', 'old', 'soft', 'sub']);
  t.deepEqual(lines.find((words) => words.at(-1) === 'old')?.toSpliced(1, 1), [
    '-rws--s--x',
    username,
    username,
    '12',
    'Jan',
    '1',
    '1971',
    'old',
  ]);
  t.is(lines.find((words) => words.at(-1) === 'sub')?.[0], 'drwxrwxrwt');
  t.is(lines.find((words) => words.at(-1) === 'soft')?.[0], 'lrwxrwxrwx');
});

test('df tells the size of the file system', async (t) => {
  const at = places(t);

  const { stdout, status } = await sftp(t, ['df', 'df -i'], at);

  t.is(status, 0);
  t.regex(stdout, /%Capacity\n\s*\d{4,}\s+\d+\s+\d{4,}\s+\d+\s+\d+%/u);
});

test('a directory of 3,000 files is listed whole and taken away again', async (t) => {
  const at = places(t);
  const names = Array.from({ length: 3_000 }, (_, index) => `file-${String(index).padStart(4, '0')}`);
  for (const name of names) writeFileSync(join(at.remote, name), '');

  const { stdout } = await sftp(t, ['ls -1'], at);
  const run = await sftp(t, ['rm file-*'], at);

  t.deepEqual(stdout.trim().split('\n'), names);
  t.is(run.status, 0);
  t.deepEqual(readdirSync(at.remote), []);
});

test('what cannot be done is told, and the rest goes on', async (t) => {
  const at = places(t);
  mkdirSync(join(at.remote, 'full'));
  writeFileSync(join(at.remote, 'full/file'), '');

  const run = await sftp(
    t,
    ['-get missing', '-rmdir full', '-cd full/file/x', '-mkdir full', 'rm full/file', 'rmdir full'],
    at,
  );

  t.is(run.status, 0);
  t.regex(
    run.stderr,
    /missing" not found[\s\S]*rmdir "[^"]*full": Failure[\s\S]*full\/file\/x: not a directory[\s\S]*mkdir "[^"]*full": Failure/u,
  );
  t.deepEqual(readdirSync(at.remote), []);
});

function plant(root: string): void {
  for (const directory of ['a/b/c/d/e/f/g', 'empty', 'other/x']) mkdirSync(join(root, directory), { recursive: true });
  for (const [index, path] of ['top', 'a/one', 'a/b/c/two', 'a/b/c/d/e/f/g/deep', 'other/x/y'].entries()) {
    writeFileSync(join(root, path), randomBytes(index * 40_000));
    chmodSync(join(root, path), [0o644, 0o600, 0o755, 0o440, 0o666][index] ?? 0o644);
    utimesSync(join(root, path), 1_600_000_000 + index, 1_500_000_000 + index);
  }
}

/** Every path below with what it is. */
function treeOf(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((path) => {
      const stats = lstatSync(join(root, path));
      const isFile = stats.isFile();
      const hash = isFile
        ? createHash('sha256')
            .update(readFileSync(join(root, path)))
            .digest('hex')
        : '';
      return `${path} ${stats.mode.toString(8)} ${isFile ? stats.mtimeMs : ''} ${hash}`;
    });
}

/** A file of zeros that takes no room on the disk, and what follows them. */
function sparse(path: string, bytes: number, tail = Buffer.alloc(0)): void {
  writeFileSync(path, '');
  truncateSync(path, bytes);
  const file = openSync(path, 'r+');
  writeSync(file, tail, 0, tail.length, bytes);
  closeSync(file);
}

function tailOf(path: string, bytes: number): Buffer {
  const tail = Buffer.alloc(bytes);
  const file = openSync(path, 'r');
  readSync(file, tail, 0, bytes, statSync(path).size - bytes);
  closeSync(file);
  return tail;
}
