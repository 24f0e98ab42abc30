/**
 * Files that are written over the connection of a terminal, by the agent's own server of files, as the disk has them.
 */
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import v8 from 'node:v8';
import test, { type ExecutionContext } from 'ava';
import type { WebSocket } from 'ws';
import { ok } from '../../../../actors/refusal.ts';
import type { Caller } from '../../../../api/principals.ts';
import { TerminalCounters } from '../../../../api/terminal/counters.ts';
import type { ServiceMessage } from '../../../../api/terminal/messages.ts';
import type { RemoteFiles } from '../../../../api/terminal/ports.ts';
import { TerminalSession, type TerminalKit } from '../../../../api/terminal/session.ts';
import { nodePlaces } from '../../../../api/terminal/sockets.ts';
import { nodeOf } from '../../../support/api/rows.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/log.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';
import { machine, PASSWORD, terminalAt } from './fixture.ts';

const NODE = nodeOf(1);

/** What ssh2 makes of each entry that a machine names. */
const { Stats } = createRequire(import.meta.url)('ssh2/lib/protocol/SFTP.js') as { readonly Stats: new () => object };

/** What a user is nobody of; a root may give files to it. Source: Linux, overflowuid. */
const NOBODY = 65_534;

async function filesAt(t: ExecutionContext): Promise<{ readonly files: RemoteFiles; readonly folder: string }> {
  const { terminal } = await terminalAt(t, { hasFiles: true });
  return { files: terminal.files, folder: temporaryDirectory(t) };
}

/** A file that is being written. */
async function writing(files: RemoteFiles, path: string, text: string, replaces = true) {
  const opened = await files.write(path, replaces);
  if (!opened.ok) throw new Error(opened.refusal.message);
  const written = await opened.value.write(Buffer.from(text));
  if (!written.ok) throw new Error(written.refusal.message);
  return opened.value;
}

function modeOf(path: string): string {
  return (lstatSync(path).mode & 0o7_777).toString(8);
}

for (const mode of [0o600, 0o640, 0o755, 0o4_755])
  test(`a file of mode ${mode.toString(8)} that is replaced keeps it, and nobody else reads the new one before`, async (t) => {
    const { files, folder } = await filesAt(t);
    const path = join(folder, 'file');
    writeFileSync(path, 'old');
    chmodSync(path, mode);

    const writer = await writing(files, path, 'new');
    const [part = ''] = readdirSync(folder).filter((name) => name !== 'file');
    t.is(modeOf(join(folder, part)), '600');
    t.is(readFileSync(path, 'utf8'), 'old');
    const finished = await writer.finish();

    t.true(finished.ok);
    t.is(modeOf(path), mode.toString(8));
    t.is(readFileSync(path, 'utf8'), 'new');
    t.deepEqual(readdirSync(folder), ['file']);
  });

test('a file that is replaced keeps its owner, where whoever replaces it may give it away', async (t) => {
  const isRoot = process.getuid?.() === 0;
  const { files, folder } = await filesAt(t);
  const path = join(folder, 'file');
  writeFileSync(path, 'old');
  if (isRoot) chownSync(path, NOBODY, NOBODY);
  const { uid, gid } = statSync(path);

  const finished = await (await writing(files, path, 'new')).finish();

  t.true(finished.ok);
  t.like(statSync(path), { uid, gid });
});

test('a link stays one: what it leads to is replaced', async (t) => {
  const { files, folder } = await filesAt(t);
  const [link, target] = [join(folder, 'link'), join(folder, 'elsewhere/file')];
  mkdirSync(join(folder, 'elsewhere'));
  writeFileSync(target, 'old');
  symlinkSync('elsewhere/file', link);

  const finished = await (await writing(files, link, 'new')).finish();

  t.true(finished.ok);
  t.true(lstatSync(link).isSymbolicLink());
  t.is(readFileSync(target, 'utf8'), 'new');
  t.deepEqual(readdirSync(join(folder, 'elsewhere')), ['file']);
});

test('a file that is new has the usual mode, also where one could have been replaced', async (t) => {
  const { files, folder } = await filesAt(t);
  const usual = join(folder, 'usual');
  writeFileSync(usual, '');

  for (const [name, replaces] of [
    ['new', false],
    ['other', true],
  ] as const) {
    const finished = await (await writing(files, join(folder, name), 'new', replaces)).finish();
    t.true(finished.ok);
    t.is(modeOf(join(folder, name)), modeOf(usual));
  }
});

test('a folder is replaced by no file, and what is there by none that was to be new', async (t) => {
  const { files, folder } = await filesAt(t);
  mkdirSync(join(folder, 'folder'));
  writeFileSync(join(folder, 'file'), 'old');

  const [over, beside] = [
    await files.write(join(folder, 'folder'), true),
    await files.write(join(folder, 'file'), false),
  ];

  t.is(!over.ok && over.refusal.message, 'It is no file that can be replaced.');
  t.is(!beside.ok && beside.refusal.message, 'There is a file of this name already.');
  t.deepEqual(readdirSync(folder).toSorted(), ['file', 'folder']);
});

test('a file that cannot take its place is given up, and nothing of it stays', async (t) => {
  const { files, folder } = await filesAt(t);
  const path = join(folder, 'file');

  const writer = await writing(files, path, 'new');
  mkdirSync(path);
  const finished = await writer.finish();
  await writer.abort();

  t.false(finished.ok);
  t.deepEqual(readdirSync(folder), ['file']);
});

test('a machine whose server replaces no file says so', async (t) => {
  const { terminal } = await terminalAt(t, {
    sftp(server) {
      server.on('STAT', (id) => server.status(id, 2));
      server.on('OPEN', (id) => server.handle(id, Buffer.from('file')));
      for (const request of ['WRITE', 'CLOSE', 'REMOVE'] as const)
        server.on(request, (id: number) => {
          server.status(id, 0);
        });
    },
  });

  const writer = await writing(terminal.files, '/file', 'new');
  const finished = await writer.finish();
  await writer.abort();

  t.is(!finished.ok && finished.refusal.message, 'The node says: Server does not support this extended request.');
});

test('what a machine answered is kept nowhere while the connection lasts', async (t) => {
  const { files, folder } = await filesAt(t);
  for (let index = 0; index < 50; index += 1) writeFileSync(join(folder, `file-${index}`), '');

  for (let list = 0; list < 10; list += 1) {
    const found = await files.list(folder, 100);
    t.is(found.ok && found.value.entries.length, 50);
  }

  await until('the end of what was answered', () => v8.queryObjects(Stats, { format: 'count' }) < 50);
  t.true((await files.list(folder, 100)).ok);
});

test('what waits for an answer when the connection ends is told so, and what is asked behind it', async (t) => {
  const asked = Promise.withResolvers<void>();
  const { terminal, stream } = await terminalAt(t, { sftp: (server) => server.on('REALPATH', () => asked.resolve()) });
  const waiting = [terminal.files.list('/', 10), terminal.files.list('/', 10)];
  await asked.promise;

  stream.destroy();

  for (const list of waiting) t.false((await list).ok);
  const behind = await terminal.files.list('/', 10);
  t.is(!behind.ok && behind.refusal.message, 'The node gives no files over this connection (SFTP).');
});

test('a machine that gives no files may be asked over and over: no listener stays with each try', async (t) => {
  const { terminal } = await terminalAt(t, {});
  const warnings: string[] = [];
  const heard = ({ name, message }: Error): void => {
    if (name === 'MaxListenersExceededWarning') warnings.push(message);
  };
  process.on('warning', heard);
  t.teardown(() => process.off('warning', heard));

  for (let index = 0; index < 20; index += 1) t.false((await terminal.files.list('/', 10)).ok);

  t.deepEqual(warnings, []);
});

test('an upload whose client goes leaves nothing on the disk', async (t) => {
  const folder = temporaryDirectory(t);
  const said: ServiceMessage[] = [];
  const socket = Object.assign(new EventEmitter(), {
    readyState: 1,
    OPEN: 1,
    close: () => {},
    send: (text: string) => void said.push(JSON.parse(text) as ServiceMessage),
  });
  const say = (message: object): unknown => socket.emit('message', Buffer.from(JSON.stringify(message)), false);
  const hears = (type: ServiceMessage['type']) => until(type, () => said.some((one) => one.type === type));
  const session = new TerminalSession(
    {
      terminals: await machine(t, { hasFiles: true }),
      clock: createFakeClock(),
      counters: new TerminalCounters(),
      log: recordingLog(),
      placeOf: nodePlaces(),
      isRecorded: () => false,
      call: (async () => ok(NODE)) as unknown as TerminalKit['call'],
    },
    { socket: socket as unknown as WebSocket, caller: () => ({}) as Caller },
  );
  t.teardown(() => session.over('stopping', ''));
  const signIn = { type: 'password', password: PASSWORD };
  say({ type: 'open', node_id: NODE.id, username: 'ops', sign_in: signIn, terminal: { columns: 80, rows: 24 } });
  await hears('opened');
  say({ type: 'upload', path: join(folder, 'file'), replaces: false });
  await hears('uploading');
  socket.emit('message', Buffer.alloc(50_000, 1), true);
  await hears('taken');
  t.is(readdirSync(folder).length, 1);

  socket.emit('close');
  await until('the disk to have nothing of it', () => readdirSync(folder).length === 0);

  t.deepEqual(readdirSync(folder), []);
});
