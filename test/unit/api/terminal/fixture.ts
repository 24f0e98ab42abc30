/** Terminals by WebSocket with a client of them. The way to the node is played. */
import { EventEmitter, once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import { ok, refuse } from '../../../../actors/refusal.ts';
import type { Caller } from '../../../../api/principals.ts';
import { TerminalCounters } from '../../../../api/terminal/counters.ts';
import type { ServiceMessage } from '../../../../api/terminal/messages.ts';
import { TERMINAL_PATH } from '../../../../api/terminal/path.ts';
import type {
  FileEntry,
  RemoteTerminal,
  TerminalAsked,
  TerminalHeard,
  Terminals,
} from '../../../../api/terminal/ports.ts';
import { TerminalSession, type TerminalKit } from '../../../../api/terminal/session.ts';
import { createTerminals, nodePlaces } from '../../../../api/terminal/sockets.ts';
import { KEYS } from '../../../support/api/fakes.ts';
import { nodeOf } from '../../../support/api/rows.ts';
import { serve } from '../../../support/api/served.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/log.ts';

/** Where terminals are opened. */
export const NODE = nodeOf(1);
/** What a client says first. */
export const OPEN = {
  type: 'open',
  node_id: NODE.id,
  username: 'ops',
  sign_in: { type: 'password', password: 'secret-of-a-test' },
  terminal: { columns: 80, rows: 24 },
};

/** A machine that a test plays: what it was asked, and what it was told. */
export function machine(refused: ReturnType<typeof refuse> | null = null) {
  const played = {
    asked: [] as TerminalAsked[],
    written: [] as string[],
    paused: 0,
    ended: 0,
    entries: [] as FileEntry[],
    /** What an upload waits for before it begins, and before it is taken back. */
    begins: Promise.resolve(),
    aborts: Promise.resolve(),
    /** What became of it, in its order. */
    done: [] as string[],
    heard: null as TerminalHeard | null,
  };
  const files: RemoteTerminal['files'] = {
    list: async (path) => ok({ path, entries: played.entries, isCut: false }),
    read: async () => refuse('not_found', 'There is no such file.'),
    write: async (path) => {
      played.done.push('begun');
      await played.begins;
      return ok({
        path,
        write: async () => ok(null),
        finish: async () => ok(null),
        abort: async () => {
          await played.aborts;
          played.done.push('taken back');
        },
      });
    },
    makeFolder: async () => ok(null),
    rename: async () => ok(null),
    remove: async () => ok(null),
  };
  const terminals: Terminals = {
    async open(asked, heard) {
      played.asked.push(asked);
      played.heard = heard;
      if (refused !== null) return refused;
      if (asked.signIn.type === 'key') await asked.signIn.sign(Buffer.from('to be signed'));
      return ok({
        hostKey: 'SHA256:played',
        write: (bytes, taken) => {
          played.written.push(Buffer.from(bytes).toString());
          if (!played.written.at(-1)?.startsWith('stuck')) taken();
        },
        pause: () => (played.paused += 1),
        resume: () => (played.paused -= 1),
        resize: () => {},
        files,
        end: () => {
          played.ended += 1;
          played.done.push('hung up');
        },
      });
    },
  };
  return { played, terminals };
}

/** Terminals on the API's server, by a machine that is played. */
export async function served(t: ExecutionContext, refused: ReturnType<typeof refuse> | null = null) {
  const { played, terminals } = machine(refused);
  const clock = createFakeClock();
  const sockets = createTerminals({ terminals, clock, isRecorded: () => true });
  const { url, fixture } = await serve(t, { mounts: () => [sockets.mount] });
  fixture.nodes.set(NODE.id, NODE);
  return { played, clock, url, readings: () => sockets.readings() };
}

/** A client; `status`: of an upgrade that was refused. */
export async function client(
  t: ExecutionContext,
  url: string,
  headers = { authorization: `Bearer ${KEYS.api}` },
  protocols = ['edge.terminal.v1'],
) {
  const socket = new WebSocket(url.replace(/^http/u, 'ws') + TERMINAL_PATH, protocols, { headers });
  t.teardown(() => socket.terminate());
  const said: ServiceMessage[] = [];
  let bytes = 0;
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) bytes += data.length - 1;
    else said.push(JSON.parse(data.toString()) as ServiceMessage);
  });
  socket.on('error', () => {});
  const status = await new Promise<number>((resolve) => {
    socket.once('open', () => resolve(101));
    socket.once('unexpected-response', (_request, { statusCode = 0 }) => resolve(statusCode));
  });
  const say = (message: object): void => socket.send(JSON.stringify(message));
  const hears = async (type: ServiceMessage['type']): Promise<ServiceMessage> => {
    for (;;) {
      const found = said.find((one) => one.type === type);
      if (found !== undefined) return found;
      const over = closed.then(() => Promise.reject(new Error(`it was closed: ${JSON.stringify(said.at(-1))}`)));
      await Promise.race([once(socket, 'message'), over]);
    }
  };
  const type = (text: string): void => socket.send(Buffer.concat([Buffer.of(0), Buffer.from(text)]));
  return { socket, status, say, hears, type, closed, said, bytes: () => bytes };
}

/** An open session with a socket that the test plays. */
export async function openSession() {
  const clock = createFakeClock();
  const counters = new TerminalCounters();
  const sent: string[] = [];
  const socket = Object.assign(new EventEmitter(), {
    close: () => {},
    send: (message: string) => void sent.push(message),
    readyState: 1,
    OPEN: 1,
  });
  const { terminals, played } = machine();
  const session = new TerminalSession(
    {
      terminals,
      clock,
      counters,
      log: recordingLog(),
      placeOf: nodePlaces(),
      isRecorded: () => false,
      call: (async () => ok(NODE)) as unknown as TerminalKit['call'],
    },
    { socket: socket as unknown as WebSocket, caller: () => ({}) as Caller },
  );
  const say = (message: object): boolean => socket.emit('message', Buffer.from(JSON.stringify(message)), false);
  say(OPEN);
  await setImmediate();
  return { clock, counters, sent, socket, say, played, session };
}
