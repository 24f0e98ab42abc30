/**
 * Worker: agents that lie. Each says what costs an admin most for as little of its own as it can, and comes again as
 * soon as it was cut.
 */
import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import { EXECUTIONS_PER_FRAME_MAX } from '../../transport/protocol/limits.ts';
import { PROTOCOL_VERSION, SESSION_PATH, SESSION_SUBPROTOCOL } from '../../transport/protocol/version.ts';
import { serveQuestions } from '../method/worker.ts';
import { REGISTRATION } from './simulated-agent.ts';

/** Pause before a liar comes again after it was cut, in ms: far less than any agent waits. */
const AGAIN_MS = 20;

/**
 * Frames that go at once, and the pause between two such moments, in ms: two and a half times the share of a node, or
 * just within it.
 */
const FRAMES_AT_ONCE = 8;
const FRAMES_EVERY_MS = { flood: 3, within: 10 };

/** A lie that nobody cuts is followed by the next after this, in ms: a node may begin a session each 2 s. */
const NEXT_LIE_MS = 3_000;

/** Frames of a kind that are written beforehand: what a lie costs its liar, the machine has not for the admin. */
const PREPARED = 16;

interface Liar {
  readonly node: string;
  readonly token: string;
}

const cuts: {
  readonly lie: string;
  readonly code: number;
  readonly reason: string;
  readonly ms: number;
  readonly frames: number;
}[] = [];
let dials = 0;
let stopped = false;

const unknown = (count: number): readonly string[] => Array.from({ length: count }, () => randomUUID());
const HELD = unknown(EXECUTIONS_PER_FRAME_MAX);
const KEY = Buffer.alloc(32, 7).toString('base64');

/** What is said, over and over. The first is a liar that only ever says hello. */
const LIES: Readonly<Record<string, (() => object) | null>> = {
  hellos: null,
  'unknown acknowledgements': () => ({ type: 'acknowledge', executions: unknown(EXECUTIONS_PER_FRAME_MAX) }),
  'unknown acknowledgements, one a frame': () => ({ type: 'acknowledge', executions: unknown(1) }),
  'unknown results': () => ({
    type: 'result',
    results: unknown(32).map((execution) => ({
      execution,
      outcome: 'completed',
      exit_code: 0,
      output: 'x',
      parts: 0,
      output_truncated: false,
    })),
  }),
  'unknown output': () => ({ type: 'output-part', execution: randomUUID(), part: 0, text: 'x'.repeat(1_000) }),
  'SSH attempts': () => ({
    type: 'verify-ssh',
    attempt: Math.floor(Math.random() * 1e9),
    username: 'root',
    credential: { method: 'password', password: 'wrong' },
  }),
  'SSH logins': () => ({
    type: 'ssh-grants',
    grants: unknown(64).map((id) => ({ ssh_username_id: id, ssh_public_key_id: null })),
  }),
  reports: () => ({
    type: 'report',
    report: { services: [{ name: 'runner', healthy: Math.random() < 0.5, detail: null }] },
  }),
  'VPN advertisements': () => ({
    type: 'mesh-advertise',
    advertisement: {
      public_key: KEY,
      listen_port: 1 + Math.floor(Math.random() * 60_000),
      endpoints: [],
      relay_region: null,
      revision: null,
    },
  }),
  'VPN tries': () => ({ type: 'mesh-try', public_key: KEY }),
  settings: () => ({ type: 'refresh-settings' }),
  questions: () => ({ type: 'ask-open', ask: 1, executions: unknown(8) }),
  'live output': () => ({
    type: 'tail-output',
    execution: randomUUID(),
    offset: 0,
    text: 'x'.repeat(1_000),
    end: false,
  }),
};

/** Each lie as text, but for its number. */
const PREPARED_LIES = new Map(
  Object.entries(LIES).map(([name, said]) => [
    name,
    said === null ? [] : Array.from({ length: PREPARED }, () => JSON.stringify(said()).slice(1)),
  ]),
);

function lie(port: number, { node, token }: Liar, everyMs: number): void {
  const names = Object.keys(LIES);
  let turn = Math.floor(Math.random() * names.length);
  const dial = (): void => {
    if (stopped) return;
    dials += 1;
    turn += 1;
    const name = names[turn % names.length] ?? 'hellos';
    const lies = PREPARED_LIES.get(name) ?? [];
    const socket = new WebSocket(`ws://127.0.0.1:${port}${SESSION_PATH}`, SESSION_SUBPROTOCOL, {
      headers: { authorization: `Bearer ${token}` },
    });
    const beganMs = performance.now();
    let seq = 0;
    let timer: NodeJS.Timeout | undefined;
    const enough = everyMs === FRAMES_EVERY_MS.within ? setTimeout(() => socket.terminate(), NEXT_LIE_MS) : undefined;
    const send = (rest: string): void => {
      seq += 1;
      socket.send(`{"seq":${seq},${rest}`);
    };
    const some = (): void => {
      for (let index = 0; index < FRAMES_AT_ONCE && socket.readyState === socket.OPEN; index += 1)
        send(lies[seq % lies.length] ?? '');
    };
    socket.on('open', () => {
      send(
        JSON.stringify({
          type: 'hello',
          protocol: PROTOCOL_VERSION,
          node,
          registration: REGISTRATION,
          report: { services: [] },
          holding: lies.length === 0 ? HELD : [],
        }).slice(1),
      );
    });
    socket.on('message', () => {
      if (lies.length === 0) socket.terminate();
      else timer ??= setInterval(some, everyMs);
    });
    socket.on('error', () => {}); // `close` follows
    socket.on('close', (code, reason) => {
      clearInterval(timer);
      clearTimeout(enough);
      cuts.push({ lie: name, code, reason: reason.toString(), ms: performance.now() - beganMs, frames: seq });
      setTimeout(dial, AGAIN_MS);
    });
  };
  dial();
}

serveQuestions({
  lie: ({ port, liars, pace }: { port: number; liars: readonly Liar[]; pace: keyof typeof FRAMES_EVERY_MS }) => {
    for (const one of liars) lie(port, one, FRAMES_EVERY_MS[pace]);
  },
  /** What became of their sessions since the last question. */
  told: () => ({ dials, cuts: cuts.splice(0) }),
  stop: () => {
    stopped = true;
  },
});
