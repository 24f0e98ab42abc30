/** Clients that do not play by the rules. */
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import * as fc from 'fast-check';
import { memoryMb, processorTime } from '../../../support/processes.ts';
import { until } from '../../../support/until.ts';
import {
  GREETING,
  NO_ATTRIBUTES,
  NOBODY,
  OPENS,
  packet,
  REQUEST,
  SftpProcess,
  statusOf,
  text,
  u32,
  u64,
} from '../../../support/agent/sftp-process.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const { CLOSE, OPEN, OPENDIR, READ } = REQUEST;
const { READING } = OPENS;

const isRoot = process.getuid?.() === 0;

test('garbage ends the program with one line that says what it was', async (t) => {
  const cases: readonly (readonly [string, Buffer, RegExp])[] = [
    [
      'another protocol',
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      /a packet of 1195725856 bytes: 5 to 263168 are possible/u,
    ],
    [
      'no greeting',
      packet(OPEN, 1, text('x'), READING, NO_ATTRIBUTES),
      /a packet of kind 3 before the first greeting/u,
    ],
    ['an empty packet', Buffer.concat([GREETING, u32(0)]), /a packet of 0 bytes/u],
    [
      'a field that is longer than its packet',
      Buffer.concat([GREETING, packet(OPEN, 1, u32(100), Buffer.from('x'))]),
      /a field of 100 bytes in a packet that has 1 left/u,
    ],
    [
      'too few fields',
      Buffer.concat([GREETING, packet(OPEN, 1, text('x'))]),
      /a field of 4 bytes in a packet that has 0 left/u,
    ],
    [
      'endless attributes',
      Buffer.concat([GREETING, packet(9, 1, text('x'), u32(0x8000_0000), u32(0xffff_ffff))]),
      /a field of 4 bytes in a packet that has 0 left/u,
    ],
    ['the end in a packet', Buffer.concat([GREETING, u32(100)]), /the end in the middle of a packet/u],
  ];

  for (const [name, bytes, reason] of cases) {
    const server = SftpProcess.start(t, temporaryDirectory(t, 0o777));
    server.send(bytes);

    t.deepEqual(await server.end(), { code: 1, signal: null }, name);
    t.regex(server.stderr, new RegExp(`^sftp-server: what came is not SFTP: ${reason.source}.*\n$`, 'u'), name);
  }
});

test('a client opens a thousand files and no more, and can go on when it closed one', async (t) => {
  const server = await SftpProcess.greeted(t, temporaryDirectory(t, 0o777));
  server.send(
    Buffer.concat(
      Array.from({ length: 1_001 }, (_, index) =>
        packet(
          index % 2 === 0 ? OPENDIR : OPEN,
          index,
          text('.'),
          ...(index % 2 === 0 ? [] : [READING, NO_ATTRIBUTES]),
        ),
      ),
    ),
  );
  const answers = [];
  for (let count = 0; count <= 1_000; count += 1) answers.push(await server.answer());

  t.true(answers.slice(0, 1_000).every(({ kind }) => kind === 102));
  t.deepEqual(answers.slice(1_000).map(statusOf)[0], [4, 'more than 1000 files open at once: close some first']);
  t.deepEqual(await server.status(CLOSE, answers[500]?.rest ?? Buffer.alloc(0)), [0, 'done']);
  t.is((await server.ask(OPENDIR, text('.'))).kind, 102);
  t.deepEqual(
    await server.status(READ, answers[500]?.rest ?? Buffer.alloc(0), u64(0), u32(1)),
    [4, 'there is no such open file'],
    'a closed handle is not that of the next file',
  );
});

test('a client that takes no answers is held back, in bounded memory, and gets all of them in the end', async (t) => {
  const directory = temporaryDirectory(t, 0o777);
  writeFileSync(join(directory, 'file'), Buffer.alloc(261_120, 'x'));
  const server = await SftpProcess.greeted(t, directory);
  const handle = await server.handle(OPEN, text('file'), READING, NO_ATTRIBUTES);
  const requests = 60_000; // 1.7 MB that ask for 15 GB
  server.child.stdout.pause();
  const pid = server.child.pid ?? 0;
  const before = memoryMb(pid);

  server.send(
    Buffer.concat(
      Array.from({ length: requests }, (_, index) =>
        packet(READ, index, handle, u64(index < 300 ? 0 : 300_000), u32(261_120)),
      ),
    ),
  );
  let seen = '';
  await until('the server to stand still with requests before it', () => {
    const now = `${processorTime(pid)} ${server.child.stdin.writableLength}`;
    const stands = now === seen && server.child.stdin.writableLength > 0;
    seen = now;
    return stands;
  });
  t.true(memoryMb(pid) - before < 40, `${memoryMb(pid) - before} MiB more`);
  server.child.stdout.resume();

  const wrong = [];
  for (let index = 0; index < requests; index += 1) {
    const { kind, number } = await server.answer();
    if (number !== index || kind !== (index < 300 ? 103 : 101)) wrong.push({ index, kind, number });
  }
  t.deepEqual(wrong, []);
  t.deepEqual(await server.end(), { code: 0, signal: null });
});

test('a client that goes away in the middle leaves no process behind', async (t) => {
  const directory = temporaryDirectory(t, 0o777);
  writeFileSync(join(directory, 'file'), Buffer.alloc(261_120, 'x'));
  const server = await SftpProcess.greeted(t, directory);
  const handle = await server.handle(OPEN, text('file'), READING, NO_ATTRIBUTES);
  server.child.stdout.pause();
  server.send(
    Buffer.concat(Array.from({ length: 100 }, (_, index) => packet(READ, index, handle, u64(0), u32(261_120)))),
  );

  server.child.stdout.destroy();
  server.child.stdin.destroy();

  t.deepEqual(await server.exited, { code: 0, signal: null });
  t.is(server.stderr, '');
});

test('files are closed with their handles, none stays open', async (t) => {
  const directory = temporaryDirectory(t, 0o777);
  writeFileSync(join(directory, 'file'), '');
  const server = await SftpProcess.greeted(t, directory);
  const open = () =>
    readdirSync(`/proc/${server.child.pid}/fd`)
      .map((name) => {
        try {
          return readlinkSync(`/proc/${server.child.pid}/fd/${name}`);
        } catch {
          return '';
        }
      })
      .filter((path) => path.startsWith(directory));

  for (let round = 0; round < 20; round += 1) {
    const [file, listing] = [
      await server.handle(OPEN, text('file'), READING, NO_ATTRIBUTES),
      await server.handle(OPENDIR, text('.')),
    ];
    t.is(open().length, 2);
    await server.status(CLOSE, file);
    await server.status(CLOSE, listing);
  }

  t.deepEqual(open(), []);
});

test('whatever follows INIT, the answer is an answer or one line, never a crash', async (t) => {
  const directory = temporaryDirectory(t, 0o777);
  const names = fc.constantFrom('a', 'b', 'c/d', '', '.', '..', '\0', 'x'.repeat(300)).map((name) => text(name));
  const field = fc.oneof(
    names,
    fc.constantFrom(0, 1, 2, 3, 8, 0x1f, 0x3f, 0xffff_ffff).map(u32),
    fc.constantFrom(0n, 1n, 2n ** 40n, 2n ** 63n, 2n ** 64n - 1n).map(u64),
    fc.integer({ min: 0, max: 5 }).map((handle) => text(u32(handle))),
    fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  );
  const extensions = [
    'posix-rename@openssh.com',
    'statvfs@openssh.com',
    'fstatvfs@openssh.com',
    'hardlink@openssh.com',
    'fsync@openssh.com',
    'lsetstat@openssh.com',
    'limits@openssh.com',
    'expand-path@openssh.com',
    'home-directory',
    'users-groups-by-id@openssh.com',
  ];
  const request = fc.oneof(
    fc
      .tuple(fc.integer({ min: 3, max: 21 }), fc.array(field, { maxLength: 5 }))
      .map(([kind, fields]) => packet(kind, 7, ...fields)),
    fc
      .tuple(fc.constantFrom(...extensions), fc.array(field, { maxLength: 4 }))
      .map(([name, fields]) => packet(200, 7, text(name), ...fields)),
  );

  const streams = fc.sample(fc.array(request, { minLength: 1, maxLength: 40 }), { numRuns: 24, seed: 4 });
  for (const stream of streams) {
    // as nobody: what is at random should not hit what matters
    const server = SftpProcess.start(t, directory, isRoot ? NOBODY : null);
    server.send(Buffer.concat([GREETING, ...stream]));
    const { code, signal } = await server.end();

    t.is(signal, null);
    if (code !== 0)
      t.regex(
        server.stderr,
        /^sftp-server: what came is not SFTP: a field of \d+ bytes in a packet that has \d+ left\n$/u,
      );
    else t.is(server.stderr, '');
  }
});
