/** Every request and extension, said packet by packet: what is answered, and how precisely. */
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { namesOf, NO_ATTRIBUTES, packet, SftpProcess, text, u32, u64 } from '../../../support/agent/sftp-process.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const OPEN = 3,
  CLOSE = 4,
  READ = 5,
  WRITE = 6,
  LSTAT = 7,
  FSTAT = 8,
  SETSTAT = 9,
  FSETSTAT = 10,
  OPENDIR = 11,
  READDIR = 12,
  REMOVE = 13,
  MKDIR = 14,
  RMDIR = 15,
  REALPATH = 16,
  STAT = 17,
  RENAME = 18,
  READLINK = 19,
  SYMLINK = 20,
  EXTENDED = 200;
const OK = [0, 'done'] as const;
const READING = u32(1),
  WRITING = u32(2),
  BOTH = u32(3),
  APPENDING = u32(0x02 | 0x04 | 0x08),
  MAKING = u32(0x02 | 0x08),
  MAKING_NEW = u32(0x02 | 0x08 | 0x20),
  EMPTYING = u32(0x02 | 0x08 | 0x10);

async function start(t: ExecutionContext) {
  const directory = temporaryDirectory(t, 0o777);
  const server = await SftpProcess.greeted(t, directory);
  return { directory, server, at: (name: string) => join(directory, name) };
}

test('the greeting is answered with version 3 and the extensions, whatever version the client has', async (t) => {
  const server = SftpProcess.start(t, temporaryDirectory(t, 0o777));
  server.send(packet(1, 6));

  const { kind, number, rest } = await server.answer();

  t.deepEqual([kind, number], [2, 3]);
  const words = [];
  for (let at = 0; at < rest.length; at += 4 + rest.readUInt32BE(at))
    words.push(rest.toString('utf8', at + 4, at + 4 + rest.readUInt32BE(at)));
  t.deepEqual(words, [
    'posix-rename@openssh.com',
    '1',
    'statvfs@openssh.com',
    '2',
    'fstatvfs@openssh.com',
    '2',
    'hardlink@openssh.com',
    '1',
    'fsync@openssh.com',
    '1',
    'lsetstat@openssh.com',
    '1',
    'limits@openssh.com',
    '1',
    'expand-path@openssh.com',
    '1',
    'copy-data',
    '1',
    'home-directory',
    '1',
    'users-groups-by-id@openssh.com',
    '1',
  ]);
});

test('every way to open a file is that of open(2)', async (t) => {
  const { server, at } = await start(t);
  writeFileSync(at('there'), 'old content');

  t.deepEqual(await server.status(OPEN, text('missing'), READING, NO_ATTRIBUTES), [2, 'no such file or directory']);
  t.deepEqual(await server.status(OPEN, text('missing'), WRITING, NO_ATTRIBUTES), [2, 'no such file or directory']);
  t.deepEqual(await server.status(OPEN, text('there'), MAKING_NEW, NO_ATTRIBUTES), [4, 'file already exists']);
  t.deepEqual(await server.status(OPEN, text('there'), u32(8), NO_ATTRIBUTES), [
    4,
    'a file is opened for reading, for writing, or for both',
  ]);
  t.deepEqual(await server.status(OPEN, text('there/below'), READING, NO_ATTRIBUTES), [2, 'not a directory']);

  const both = await server.handle(OPEN, text('there'), BOTH, NO_ATTRIBUTES);
  t.deepEqual(await server.status(WRITE, both, u64(4), text('CON')), OK);
  t.is((await server.ask(READ, both, u64(0), u32(100))).rest.toString('utf8', 4), 'old CONtent');
  const append = await server.handle(OPEN, text('there'), APPENDING, NO_ATTRIBUTES);
  t.deepEqual(await server.status(WRITE, append, u64(0), text('!')), OK);
  t.is(readFileSync(at('there'), 'utf8'), 'old CONtent!');
  const emptied = await server.handle(OPEN, text('there'), EMPTYING, NO_ATTRIBUTES);
  t.is(readFileSync(at('there'), 'utf8'), '');
  t.deepEqual(await server.status(READ, emptied, u64(0), u32(1)), [4, 'the file is not open for this']);
  const made = await server.handle(OPEN, text('new'), MAKING_NEW, Buffer.concat([u32(4), u32(0o100_6755)]));
  for (const handle of [both, append, emptied, made]) t.deepEqual(await server.status(CLOSE, handle), OK);
  t.is(statSync(at('new')).mode & 0o7777, 0o6755 & ~process.umask());
  t.deepEqual(await server.status(CLOSE, made), [4, 'there is no such open file']);
});

test('the umask takes from what a client asks for', async (t) => {
  const { server, at } = await start(t);

  await server.handle(OPEN, text('plain'), MAKING, NO_ATTRIBUTES);
  await server.handle(OPEN, text('asked'), MAKING, Buffer.concat([u32(4), u32(0o777)]));
  t.deepEqual(await server.status(MKDIR, text('directory'), NO_ATTRIBUTES), OK);
  t.deepEqual(await server.status(MKDIR, text('sticky'), Buffer.concat([u32(4), u32(0o1770)])), OK);

  t.deepEqual(
    ['plain', 'asked', 'directory', 'sticky'].map((name) => statSync(at(name)).mode & 0o7777),
    [0o666, 0o777, 0o777, 0o1770].map((mode) => mode & ~process.umask()),
  );
});

test('reads are cut at the end of the file and at what one answer may hold, and then say that it is the end', async (t) => {
  const { server, at } = await start(t);
  writeFileSync(at('file'), Buffer.alloc(300_000, 'x'));
  const handle = await server.handle(OPEN, text('file'), READING, NO_ATTRIBUTES);
  const length = async (offset: number | bigint, bytes: number) =>
    (await server.ask(READ, handle, u64(offset), u32(bytes))).rest.length - 4;

  t.deepEqual([await length(0, 10), await length(299_995, 10), await length(0, 0xffff_ffff)], [10, 5, 261_120]);
  t.deepEqual(await server.status(READ, handle, u64(300_000), u32(10)), [1, 'end of file']);
  t.deepEqual(await server.status(READ, handle, u64(2 ** 40), u32(10)), [1, 'end of file']);
  t.deepEqual(await server.status(READ, handle, u64(2n ** 64n - 1n), u32(10)), [4, 'no file is that long']);
  t.deepEqual(await server.status(WRITE, handle, u64(0), text('x')), [4, 'the file is not open for this']);
  t.deepEqual(await server.status(READ, text('none'), u64(0), u32(10)), [4, 'there is no such open file']);
  t.deepEqual(await server.status(READ, text('longer than any'), u64(0), u32(10)), [4, 'there is no such open file']);
  t.deepEqual(await server.status(READDIR, handle), [4, 'this handle is of a file, not of a directory']);
});

test('places beyond 4 GiB are exact, without reading what is before them', async (t) => {
  const { server, at } = await start(t);
  const bytes = 5 * 1024 ** 3;
  writeFileSync(at('large'), '');
  truncateSync(at('large'), bytes);
  const handle = await server.handle(OPEN, text('large'), BOTH, NO_ATTRIBUTES);

  t.deepEqual(await server.status(WRITE, handle, u64(2 ** 32 + 7), text('beyond')), OK);

  t.is((await server.ask(READ, handle, u64(2 ** 32 + 6), u32(8))).rest.toString('latin1', 4), '\0beyond\0');
  t.is((await server.ask(READ, handle, u64(7), u32(6))).rest.toString('latin1', 4), '\0\0\0\0\0\0');
  t.is((await server.ask(FSTAT, handle)).rest.readBigUInt64BE(4), BigInt(bytes));
  t.deepEqual(await server.status(FSETSTAT, handle, u32(1), u64(bytes + 1)), OK);
  t.is(statSync(at('large')).size, bytes + 1);
});

test('many requests at once are answered in the order in which they came', async (t) => {
  const { server, at } = await start(t);
  const content = Buffer.from(Array.from({ length: 500_000 }, (_, index) => (index * 7) % 251));
  writeFileSync(at('file'), content);
  const handle = await server.handle(OPEN, text('file'), READING, NO_ATTRIBUTES);
  const places = Array.from({ length: 500 }, (_, index) => index * 997);

  server.send(
    Buffer.concat(places.map((place, index) => packet(READ, 10_000 + index, handle, u64(place), u32(1_500)))),
  );
  const answers = [];
  for (const _ of places) answers.push(await server.answer());

  t.deepEqual(
    answers.map(({ number }) => number),
    places.map((_, index) => 10_000 + index),
  );
  t.true(
    answers.every(({ rest }, index) =>
      rest.subarray(4).equals(content.subarray(places[index], (places[index] ?? 0) + 1_500)),
    ),
  );
});

test('STAT follows links, LSTAT does not, and all that is known is told', async (t) => {
  const { server, at } = await start(t);
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
  const { server, at } = await start(t);
  writeFileSync(at('file'), 'some content');
  symlinkSync('file', at('soft'));
  const times = Buffer.concat([u32(1_000_000_000), u32(1_100_000_000)]);

  t.deepEqual(await server.status(SETSTAT, text('soft'), u32(0x01 | 0x04 | 0x08), u64(4), u32(0o100_640), times), OK);
  t.like(statSync(at('file')), { size: 4, mode: 0o100_640, atimeMs: 1_000_000_000_000, mtimeMs: 1_100_000_000_000 });
  const later = Buffer.concat([u32(1_000_000_001), u32(0xffff_ffff)]);
  t.deepEqual(await server.status(EXTENDED, text('lsetstat@openssh.com'), text('soft'), u32(0x08), later), OK);
  t.is(lstatSync(at('soft')).mtimeMs, 0xffff_ffff * 1_000);
  t.is(statSync(at('file')).mtimeMs, 1_100_000_000_000);
  t.deepEqual(await server.status(EXTENDED, text('lsetstat@openssh.com'), text('file'), u32(0x04), u32(0o604)), OK);
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
    OK,
  );
  t.is(statSync(at('file')).mode & 0o7777, 0o600);
  t.deepEqual(await server.status(SETSTAT, text('missing'), u32(4), u32(0o600)), [2, 'no such file or directory']);
});

test('a listing has every name once, with . and .., in answers that every client takes', async (t) => {
  const { server, at } = await start(t);
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
  t.deepEqual(await server.status(CLOSE, handle), OK);
  t.deepEqual(await server.status(OPENDIR, text('missing')), [2, 'no such file or directory']);
  t.deepEqual(await server.status(OPENDIR, text(`sub/${names[0] ?? ''}`)), [2, 'not a directory']);
});

test('RENAME never replaces anything, posix-rename does', async (t) => {
  const { server, at } = await start(t);
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

  t.deepEqual(await server.status(RENAME, text('one'), text('directory/moved')), OK);
  t.deepEqual(await server.status(RENAME, text('directory'), text('renamed')), OK);
  t.deepEqual(await server.status(RENAME, text('dangling'), text('soft')), OK);
  t.deepEqual(await server.status(EXTENDED, text('posix-rename@openssh.com'), text('renamed/moved'), text('two')), OK);
  t.is(readFileSync(at('two'), 'utf8'), 'one');
  t.is(readlinkSync(at('soft')), 'nowhere');
  t.deepEqual(readdirSync(at('renamed')), []);
});

test('names are made and taken away, with the words of the system where they cannot be', async (t) => {
  const { server, at } = await start(t);

  t.deepEqual(await server.status(MKDIR, text('directory'), NO_ATTRIBUTES), OK);
  t.deepEqual(await server.status(MKDIR, text('directory'), NO_ATTRIBUTES), [4, 'file already exists']);
  t.deepEqual(await server.status(SYMLINK, text('what it says'), text('directory/link')), OK);
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
  t.deepEqual(await server.status(REMOVE, text('directory/link')), OK);
  t.deepEqual(await server.status(RMDIR, text('directory')), OK);
  t.deepEqual(await server.status(REMOVE, text('directory')), [2, 'no such file or directory']);
  writeFileSync(at('file'), '');
  t.deepEqual(await server.status(EXTENDED, text('hardlink@openssh.com'), text('file'), text('second')), OK);
  t.is(statSync(at('file')).nlink, 2);
});

test('REALPATH gives absolute paths, also of what does not exist', async (t) => {
  const { server, directory, at } = await start(t);
  mkdirSync(at('a/b'), { recursive: true });
  symlinkSync('a/b', at('soft'));
  symlinkSync('a/missing', at('dangling'));
  symlinkSync('loop', at('loop'));
  writeFileSync(at('file'), '');
  const real = async (path: string | Buffer, kind = REALPATH, ...before: Buffer[]) =>
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

test('data is copied within the machine, with the ends that were asked for', async (t) => {
  const { server, at } = await start(t);
  const content = Buffer.from(Array.from({ length: 600_000 }, (_, index) => index % 253));
  writeFileSync(at('from'), content);
  const from = await server.handle(OPEN, text('from'), READING, NO_ATTRIBUTES);
  const to = await server.handle(OPEN, text('to'), MAKING, NO_ATTRIBUTES);
  linkSync(at('from'), at('same'));
  const same = await server.handle(OPEN, text('same'), WRITING, NO_ATTRIBUTES);
  const copy = async (offset: number, length: number, target: Buffer, place: number) =>
    server.status(EXTENDED, text('copy-data'), from, u64(offset), u64(length), target, u64(place));

  t.deepEqual(await copy(0, 0, to, 0), OK);
  t.true(readFileSync(at('to')).equals(content));
  t.deepEqual(await copy(100, 5, to, 600_000), OK);
  t.true(readFileSync(at('to')).subarray(600_000).equals(content.subarray(100, 105)));
  t.deepEqual(await copy(599_990, 100, to, 0), [1, 'the file ended after 10 bytes']);
  t.deepEqual(await copy(0, 0, same, 0), [4, 'a file cannot be copied into itself']);
  t.deepEqual(await server.status(EXTENDED, text('fsync@openssh.com'), to), OK);
});

test('limits, file systems and names of accounts are told', async (t) => {
  const { server, directory } = await start(t);
  const numbers = ({ rest }: { rest: Buffer }) =>
    Array.from({ length: rest.length / 8 }, (_, index) => Number(rest.readBigUInt64BE(index * 8)));
  const handle = await server.handle(OPEN, text('file'), MAKING, NO_ATTRIBUTES);

  t.deepEqual(numbers(await server.ask(EXTENDED, text('limits@openssh.com'))), [262_144, 261_120, 261_120, 1_000]);
  const [system, same] = [
    numbers(await server.ask(EXTENDED, text('statvfs@openssh.com'), text('.'))),
    numbers(await server.ask(EXTENDED, text('fstatvfs@openssh.com'), handle)),
  ];
  const [size, blocks] = execFileSync('stat', ['-f', '-c', '%S %b', directory], { encoding: 'utf8' })
    .split(' ')
    .map(Number);
  t.deepEqual([system.length, system[1], system[2], system[10]], [11, size, blocks, 255]);
  t.deepEqual([same[1], same[2]], [size, blocks]);
  const { rest } = await server.ask(
    EXTENDED,
    text('users-groups-by-id@openssh.com'),
    text(Buffer.concat([u32(0), u32(4_000_000)])),
    text(u32(0)),
  );
  t.deepEqual(rest, Buffer.concat([text(Buffer.concat([text('root'), text('')])), text(text('root'))]));
  t.deepEqual(await server.status(EXTENDED, text('nothing@example.com')), [8, 'this server has no such extension']);
  t.deepEqual(await server.status(99, text('')), [8, 'this server knows no request 99']);
});

test('a pipe without its other end stops nothing', async (t) => {
  const { server, at } = await start(t);
  execFileSync('mkfifo', [at('pipe')]);

  t.deepEqual(await server.status(OPEN, text('pipe'), WRITING, NO_ATTRIBUTES), [4, 'nobody reads from this pipe']);
  const handle = await server.handle(OPEN, text('pipe'), READING, NO_ATTRIBUTES);
  t.deepEqual(await server.status(READ, handle, u64(0), u32(10)), [4, 'a pipe has no positions to read or write at']);
  t.deepEqual(await server.status(SETSTAT, text('pipe'), u32(1), u64(0)), [4, 'invalid argument']);
});

test('the end of what is read closes all files and ends the program, after everything was answered', async (t) => {
  const { server, at } = await start(t);
  writeFileSync(at('file'), 'x');
  for (let opened = 0; opened < 20; opened += 1) await server.handle(OPEN, text('file'), READING, NO_ATTRIBUTES);
  const last = [packet(MKDIR, 901, text('made'), NO_ATTRIBUTES), packet(STAT, 902, text('made'))];

  server.send(Buffer.concat(last));
  const end = server.end();
  const answers = [await server.answer(), await server.answer()];

  t.deepEqual(
    answers.map(({ kind, number }) => [kind, number]),
    [
      [101, 901],
      [105, 902],
    ],
  );
  t.deepEqual(await end, { code: 0, signal: null });
  t.is(server.stderr, '');
  t.true(existsSync(at('made')));
});
