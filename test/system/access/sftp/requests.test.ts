/** Requests and extensions of SFTP, said packet by packet: what is answered, and how precisely. */
import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import test from 'ava';
import {
  DONE,
  NO_ATTRIBUTES,
  OPENS,
  packet,
  REQUEST,
  sftpFixture,
  SftpProcess,
  text,
  u32,
  u64,
} from '../../../support/agent/sftp-process.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const { OPEN, CLOSE, READ, WRITE, FSTAT, SETSTAT, FSETSTAT, READDIR, MKDIR, STAT, EXTENDED } = REQUEST;
const { READING, WRITING, BOTH, APPENDING, MAKING, MAKING_NEW, EMPTYING } = OPENS;

test('INIT is answered with version 3 and the extensions, whatever version the client has', async (t) => {
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
  const { server, at } = await sftpFixture(t);
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
  t.deepEqual(await server.status(WRITE, both, u64(4), text('CON')), DONE);
  t.is((await server.ask(READ, both, u64(0), u32(100))).rest.toString('utf8', 4), 'old CONtent');
  const append = await server.handle(OPEN, text('there'), APPENDING, NO_ATTRIBUTES);
  t.deepEqual(await server.status(WRITE, append, u64(0), text('!')), DONE);
  t.is(readFileSync(at('there'), 'utf8'), 'old CONtent!');
  const emptied = await server.handle(OPEN, text('there'), EMPTYING, NO_ATTRIBUTES);
  t.is(readFileSync(at('there'), 'utf8'), '');
  t.deepEqual(await server.status(READ, emptied, u64(0), u32(1)), [4, 'the file is not open for this']);
  const made = await server.handle(OPEN, text('new'), MAKING_NEW, Buffer.concat([u32(4), u32(0o100_6755)]));
  for (const handle of [both, append, emptied, made]) t.deepEqual(await server.status(CLOSE, handle), DONE);
  t.is(statSync(at('new')).mode & 0o7777, 0o6755 & ~process.umask());
  t.deepEqual(await server.status(CLOSE, made), [4, 'there is no such open file']);
});

test('the umask takes from what a client asks for', async (t) => {
  const { server, at } = await sftpFixture(t);

  await server.handle(OPEN, text('plain'), MAKING, NO_ATTRIBUTES);
  await server.handle(OPEN, text('asked'), MAKING, Buffer.concat([u32(4), u32(0o777)]));
  t.deepEqual(await server.status(MKDIR, text('directory'), NO_ATTRIBUTES), DONE);
  t.deepEqual(await server.status(MKDIR, text('sticky'), Buffer.concat([u32(4), u32(0o1770)])), DONE);

  t.deepEqual(
    ['plain', 'asked', 'directory', 'sticky'].map((name) => statSync(at(name)).mode & 0o7777),
    [0o666, 0o777, 0o777, 0o1770].map((mode) => mode & ~process.umask()),
  );
});

test('reads are cut at the end of the file and at what one answer may hold, and then say that it is the end', async (t) => {
  const { server, at } = await sftpFixture(t);
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
  const { server, at } = await sftpFixture(t);
  const bytes = 5 * 1024 ** 3;
  writeFileSync(at('large'), '');
  truncateSync(at('large'), bytes);
  const handle = await server.handle(OPEN, text('large'), BOTH, NO_ATTRIBUTES);

  t.deepEqual(await server.status(WRITE, handle, u64(2 ** 32 + 7), text('beyond')), DONE);

  t.is((await server.ask(READ, handle, u64(2 ** 32 + 6), u32(8))).rest.toString('latin1', 4), '\0beyond\0');
  t.is((await server.ask(READ, handle, u64(7), u32(6))).rest.toString('latin1', 4), '\0\0\0\0\0\0');
  t.is((await server.ask(FSTAT, handle)).rest.readBigUInt64BE(4), BigInt(bytes));
  t.deepEqual(await server.status(FSETSTAT, handle, u32(1), u64(bytes + 1)), DONE);
  t.is(statSync(at('large')).size, bytes + 1);
});

test('many requests at once are answered in the order in which they came', async (t) => {
  const { server, at } = await sftpFixture(t);
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

test('data is copied within the machine, with the ends that were asked for', async (t) => {
  const { server, at } = await sftpFixture(t);
  const content = Buffer.from(Array.from({ length: 600_000 }, (_, index) => index % 253));
  writeFileSync(at('from'), content);
  const from = await server.handle(OPEN, text('from'), READING, NO_ATTRIBUTES);
  const to = await server.handle(OPEN, text('to'), MAKING, NO_ATTRIBUTES);
  linkSync(at('from'), at('same'));
  const same = await server.handle(OPEN, text('same'), WRITING, NO_ATTRIBUTES);
  const copy = async (offset: number, length: number, target: Buffer, place: number) =>
    server.status(EXTENDED, text('copy-data'), from, u64(offset), u64(length), target, u64(place));

  t.deepEqual(await copy(0, 0, to, 0), DONE);
  t.true(readFileSync(at('to')).equals(content));
  t.deepEqual(await copy(100, 5, to, 600_000), DONE);
  t.true(readFileSync(at('to')).subarray(600_000).equals(content.subarray(100, 105)));
  t.deepEqual(await copy(599_990, 100, to, 0), [1, 'the file ended after 10 bytes']);
  t.deepEqual(await copy(0, 0, same, 0), [4, 'a file cannot be copied into itself']);
  t.deepEqual(await server.status(EXTENDED, text('fsync@openssh.com'), to), DONE);
});

test('limits, file systems and names of accounts are told', async (t) => {
  const { server, directory } = await sftpFixture(t);
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
  const { server, at } = await sftpFixture(t);
  execFileSync('mkfifo', [at('pipe')]);

  t.deepEqual(await server.status(OPEN, text('pipe'), WRITING, NO_ATTRIBUTES), [4, 'nobody reads from this pipe']);
  const handle = await server.handle(OPEN, text('pipe'), READING, NO_ATTRIBUTES);
  t.deepEqual(await server.status(READ, handle, u64(0), u32(10)), [4, 'a pipe has no positions to read or write at']);
  t.deepEqual(await server.status(SETSTAT, text('pipe'), u32(1), u64(0)), [4, 'invalid argument']);
});

test('the end of what is read closes all files and ends the program, after everything was answered', async (t) => {
  const { server, at } = await sftpFixture(t);
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
