/** What stands in directories, asked for packet by packet: names, links, attributes and listings. */
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import test from 'ava';
import {
  DONE,
  namesOf,
  NO_ATTRIBUTES,
  REQUEST,
  sftpFixture,
  text,
  u32,
  u64,
} from '../../../support/agent/sftp-process.ts';

const {
  CLOSE,
  LSTAT,
  SETSTAT,
  OPENDIR,
  READDIR,
  REMOVE,
  MKDIR,
  RMDIR,
  REALPATH,
  STAT,
  RENAME,
  READLINK,
  SYMLINK,
  EXTENDED,
} = REQUEST;

test('STAT follows links, LSTAT does not, and all that is known is told', async (t) => {
  const { server, at } = await sftpFixture(t);
  writeFileSync(at('file'), 'seven b');
  symlinkSync('file', at('soft'));
  symlinkSync('nowhere', at('dangling'));
  const fields = ({ rest }: { rest: Buffer }) => [
    rest.readUInt32BE(0),
    Number(rest.readBigUInt64BE(4)),
    ...[12, 16, 20, 28].map((offset) => rest.readUInt32BE(offset)),
  ];
  const known = (path: string, stats = lstatSync(at(path))) => [
    0x0f,
    stats.size,
    stats.uid,
    stats.gid,
    stats.mode,
    Math.floor(stats.mtimeMs / 1_000),
  ];

  t.deepEqual(fields(await server.ask(STAT, text('soft'))), known('file'));
  t.deepEqual(fields(await server.ask(LSTAT, text('soft'))), known('soft'));
  t.deepEqual(await server.status(STAT, text('dangling')), [2, 'no such file or directory']);
  t.deepEqual(await server.status(STAT, text('')), [2, 'no such file or directory']);
  t.deepEqual(await server.status(STAT, text('nul\0byte')), [4, 'a file name cannot have a byte of value 0 in it']);
  t.deepEqual(await server.status(STAT, text('x'.repeat(5_000))), [4, 'name too long']);
});

test('attributes that can be set are set, also when one of them cannot', async (t) => {
  const { server, at } = await sftpFixture(t);
  writeFileSync(at('file'), 'some content');
  symlinkSync('file', at('soft'));
  const times = Buffer.concat([u32(1_000_000_000), u32(1_100_000_000)]);

  t.deepEqual(await server.status(SETSTAT, text('soft'), u32(0x01 | 0x04 | 0x08), u64(4), u32(0o100_640), times), DONE);
  t.like(statSync(at('file')), { size: 4, mode: 0o100_640, atimeMs: 1_000_000_000_000, mtimeMs: 1_100_000_000_000 });
  const later = Buffer.concat([u32(1_000_000_001), u32(0xffff_ffff)]);
  t.deepEqual(await server.status(EXTENDED, text('lsetstat@openssh.com'), text('soft'), u32(0x08), later), DONE);
  t.is(lstatSync(at('soft')).mtimeMs, 0xffff_ffff * 1_000);
  t.is(statSync(at('file')).mtimeMs, 1_100_000_000_000);
  t.deepEqual(await server.status(EXTENDED, text('lsetstat@openssh.com'), text('file'), u32(0x04), u32(0o604)), DONE);
  t.is(statSync(at('file')).mode & 0o7777, 0o604);
  t.deepEqual(await server.status(EXTENDED, text('lsetstat@openssh.com'), text('soft'), u32(0x04), u32(0o604)), [
    8,
    'symbolic links have no mode on this system',
  ]);

  t.deepEqual(await server.status(SETSTAT, text('file'), u32(0x01 | 0x08), u64(2n ** 60n), later), [
    4,
    'no file can be that long',
  ]);
  t.is(statSync(at('file')).mtimeMs, 0xffff_ffff * 1_000, 'the times were set all the same');
  t.deepEqual(
    await server.status(
      SETSTAT,
      text('file'),
      u32(0x8000_0004),
      u32(0o600),
      u32(1),
      text('vendor@example'),
      text('value'),
    ),
    DONE,
  );
  t.is(statSync(at('file')).mode & 0o7777, 0o600);
  t.deepEqual(await server.status(SETSTAT, text('missing'), u32(4), u32(0o600)), [2, 'no such file or directory']);
});

test('a listing has every name once, with . and .., in answers that every client takes', async (t) => {
  const { server, at } = await sftpFixture(t);
  const names = Array.from({ length: 700 }, (_, index) => `${'n'.repeat(index % 200)}-${index}`);
  mkdirSync(at('sub'));
  for (const name of names) writeFileSync(at(`sub/${name}`), 'x'.repeat(names.indexOf(name) % 5));
  const handle = await server.handle(OPENDIR, text('sub'));

  const listed = [];
  for (
    let answer = await server.ask(READDIR, handle);
    answer.kind === 104;
    answer = await server.ask(READDIR, handle)
  ) {
    t.true(answer.rest.length < 34_000);
    listed.push(...namesOf(answer));
  }

  t.deepEqual(listed.map(({ name }) => name.toString()).toSorted(), ['.', '..', ...names].toSorted());
  const last = listed.find(({ name }) => name.toString() === names.at(-1));
  t.regex(last?.long.toString() ?? '', /^-rw-r--r-- +1 \S+ +\S+ +4 [A-Z][a-z]{2} [ \d]\d \d\d:\d\d n{99}-699$/u);
  t.is(last?.size, 4);
  t.deepEqual(await server.status(READDIR, handle), [1, 'no more entries']);
  t.deepEqual(await server.status(CLOSE, handle), DONE);
  t.deepEqual(await server.status(OPENDIR, text('missing')), [2, 'no such file or directory']);
  t.deepEqual(await server.status(OPENDIR, text(`sub/${names[0] ?? ''}`)), [2, 'not a directory']);
});

test('RENAME never replaces anything, posix-rename does', async (t) => {
  const { server, at } = await sftpFixture(t);
  for (const name of ['one', 'two']) writeFileSync(at(name), name);
  symlinkSync('nowhere', at('dangling'));
  mkdirSync(at('directory'));

  for (const target of ['two', 'dangling', 'directory', 'one'])
    t.deepEqual(await server.status(RENAME, text('one'), text(target)), [4, 'the new name exists already'], target);
  for (const target of ['two', 'dangling', 'directory'])
    t.deepEqual(
      await server.status(RENAME, text('directory'), text(target)),
      [4, 'the new name exists already'],
      target,
    );
  t.deepEqual(await server.status(RENAME, text('missing'), text('x')), [2, 'no such file or directory']);
  t.deepEqual(await server.status(RENAME, text('one'), text('missing/x')), [2, 'no such file or directory']);
  t.deepEqual(readdirSync(at('.')).toSorted(), ['dangling', 'directory', 'one', 'two']);

  t.deepEqual(await server.status(RENAME, text('one'), text('directory/moved')), DONE);
  t.deepEqual(await server.status(RENAME, text('directory'), text('renamed')), DONE);
  t.deepEqual(await server.status(RENAME, text('dangling'), text('soft')), DONE);
  t.deepEqual(
    await server.status(EXTENDED, text('posix-rename@openssh.com'), text('renamed/moved'), text('two')),
    DONE,
  );
  t.is(readFileSync(at('two'), 'utf8'), 'one');
  t.is(readlinkSync(at('soft')), 'nowhere');
  t.deepEqual(readdirSync(at('renamed')), []);
});

test('names are made and taken away, with the words of the system where they cannot be', async (t) => {
  const { server, at } = await sftpFixture(t);

  t.deepEqual(await server.status(MKDIR, text('directory'), NO_ATTRIBUTES), DONE);
  t.deepEqual(await server.status(MKDIR, text('directory'), NO_ATTRIBUTES), [4, 'file already exists']);
  t.deepEqual(await server.status(SYMLINK, text('what it says'), text('directory/link')), DONE);
  t.is(readlinkSync(at('directory/link')), 'what it says');
  t.deepEqual(
    namesOf(await server.ask(READLINK, text('directory/link'))).map(({ name }) => name.toString()),
    ['what it says'],
  );
  t.deepEqual(await server.status(READLINK, text('directory')), [4, 'invalid argument']);
  t.deepEqual(await server.status(SYMLINK, text('x'), text('directory/link')), [4, 'file already exists']);
  t.deepEqual(await server.status(RMDIR, text('directory')), [4, 'directory not empty']);
  t.deepEqual(await server.status(REMOVE, text('directory')), [4, 'illegal operation on a directory']);
  t.deepEqual(await server.status(RMDIR, text('directory/link')), [2, 'not a directory']);
  t.deepEqual(await server.status(REMOVE, text('directory/link')), DONE);
  t.deepEqual(await server.status(RMDIR, text('directory')), DONE);
  t.deepEqual(await server.status(REMOVE, text('directory')), [2, 'no such file or directory']);
  writeFileSync(at('file'), '');
  t.deepEqual(await server.status(EXTENDED, text('hardlink@openssh.com'), text('file'), text('second')), DONE);
  t.is(statSync(at('file')).nlink, 2);
});

test('REALPATH gives absolute paths, also of what does not exist', async (t) => {
  const { server, directory, at } = await sftpFixture(t);
  mkdirSync(at('a/b'), { recursive: true });
  symlinkSync('a/b', at('soft'));
  symlinkSync('a/missing', at('dangling'));
  symlinkSync('loop', at('loop'));
  writeFileSync(at('file'), '');
  const real = async (path: string | Buffer, kind: number = REALPATH, ...before: Buffer[]) =>
    namesOf(await server.ask(kind, ...before, text(path)))[0]?.name.toString('latin1');
  const expected: Record<string, string> = {
    '': '',
    '.': '',
    './': '',
    'a//b/..': '/a',
    soft: '/a/b',
    'soft/..': '/a',
    'soft/new': '/a/b/new',
    dangling: '/a/missing',
    'dangling/new': '/a/missing/new',
    'x/y/z': '/x/y/z',
    'x/../y': '/y',
    'x/./y/': '/x/y',
    'a/x/../../b': '/b',
  };

  for (const [path, below] of Object.entries(expected)) t.is(await real(path), `${directory}${below}`, path);
  t.deepEqual(
    [await real('/'), await real('/..'), await real('/no/such'), await real('../../../../../../..')],
    ['/', '/', '/no/such', '/'],
  );
  t.is(await real(Buffer.from([0x61, 0x2f, 0xff])), `${directory}/a/\xFF`);
  t.deepEqual(await server.status(REALPATH, text('loop')), [2, 'too many symbolic links encountered']);
  t.deepEqual(await server.status(REALPATH, text('file/x')), [2, 'not a directory']);
  const home = process.env['HOME'] ?? '/';
  t.is(await real('~', EXTENDED, text('expand-path@openssh.com')), home);
  t.is(await real('~/missing/x', EXTENDED, text('expand-path@openssh.com')), `${home === '/' ? '' : home}/missing/x`);
  t.is(await real('~root', EXTENDED, text('expand-path@openssh.com')), '/root');
  t.is(await real('soft', EXTENDED, text('expand-path@openssh.com')), at('a/b'));
  t.is(await real('root', EXTENDED, text('home-directory')), '/root');
  t.deepEqual(await server.status(EXTENDED, text('home-directory'), text('nobody-of-this-name')), [
    4,
    'there is no such user here',
  ]);
});
