/**
 * Worker: many subscribers in one process, lean on purpose: a message is searched, not parsed, except where the first
 * subscriber stands for all (every message is the same text for all of them but for the call's id).
 */
import { WebSocket } from 'ws';
import { nowMs } from '../method/clock.ts';
import { serveQuestions } from '../method/worker.ts';

/** Subscriptions that are opened at once. */
const OPENS_AT_ONCE = 32;

/**
 * How often a page of the console at which nobody does anything asks for a sign of life, in ms. Source:
 * console/live.ts.
 */
const PING_MS = 15_000;

/** How often an open page asks what no feed tells, in ms. Source: console/poll.ts. */
const POLL_MS = 10_000;

interface Watcher {
  ready: boolean;
  /** The id of the last message, and when it came. */
  lastId: string;
  atMs: number;
  /** When the awaited text came; 0 before. */
  hitMs: number;
}

const watchers: Watcher[] = [];
let wanted = '';
let hits = 0;
let allHit: (() => void) | undefined;
let flipped = new Set<string>();
let heard: (() => void) | undefined;
let polls = { answered: 0, failed: 0 };

interface Changed {
  readonly result?: {
    readonly data?: { readonly data?: { readonly type: string; readonly nodes: readonly { readonly id: string }[] } };
  };
}

function hear(watcher: Watcher, text: string, isFirst: boolean, opened: () => void): void {
  watcher.atMs = nowMs();
  watcher.lastId = /"type":"data","id":"([^"]+)"/u.exec(text.slice(0, 300))?.[1] ?? watcher.lastId;
  if (!watcher.ready) {
    const [, page, pages] = /"type":"snapshot","page":(\d+),"pages":(\d+)/u.exec(text) ?? [];
    if (page === undefined || page !== pages) return;
    watcher.ready = true;
    return opened();
  }
  if (wanted !== '' && watcher.hitMs === 0 && text.includes(wanted)) {
    watcher.hitMs = watcher.atMs;
    hits += 1;
    if (hits === watchers.length) allHit?.();
  }
  if (isFirst) for (const { id } of (JSON.parse(text) as Changed).result?.data?.data?.nodes ?? []) flipped.add(id);
  heard?.();
}

/** Whom they are, and what they follow: by a key, or as pages of the console by a cookie each. */
interface Watch {
  readonly url: string;
  readonly key?: string;
  readonly cookies?: readonly string[];
  /** What pages say they are of. */
  readonly origin?: string;
  readonly input: object;
  readonly subscribers: number;
  /** Queries without an input that each of them asks every POLL_MS, spread over that time; none where left out. */
  readonly polls?: readonly string[];
}

/** Begins with a round of its own, as pages are not opened all at once. */
function poll(socket: WebSocket, queries: readonly string[], share: number): void {
  let lastId = 1; // that of the feed
  const ask = (): void => {
    for (const path of queries) {
      lastId += 1;
      socket.send(JSON.stringify({ id: lastId, method: 'query', params: { path, input: {} } }));
    }
  };
  setTimeout(() => setInterval(ask, POLL_MS), share * POLL_MS);
}

async function open(watch: Watch, index: number): Promise<void> {
  const { url, key, cookies, origin = '', input, polls: queries = [], subscribers } = watch;
  const watcher: Watcher = { ready: false, lastId: '', atMs: 0, hitMs: 0 };
  watchers[index] = watcher;
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    headers: cookies === undefined ? { authorization: `Bearer ${key}` } : { cookie: cookies[index] ?? '', origin },
    skipUTF8Validation: true,
  });
  if (cookies !== undefined) socket.once('open', () => setInterval(() => socket.send('PING'), PING_MS));
  if (queries.length > 0) socket.once('open', () => poll(socket, queries, index / subscribers));
  await new Promise<void>((resolve, reject) => {
    socket.on('open', () =>
      socket.send(JSON.stringify({ id: 1, method: 'subscription', params: { path: 'nodes.watch', input } })),
    );
    socket.on('message', (data: Buffer) => {
      const text = data.toString();
      if (text === 'PING') return socket.send('PONG');
      if (text === 'PONG') return;
      if (text.startsWith('{"id":1,"error"')) reject(new Error(text.slice(0, 300)));
      if (!text.startsWith('{"id":1,')) return answered(text);
      hear(watcher, text, index === 0, resolve);
    });
    socket.on('error', reject);
  });
}

/** What came of a poll. */
function answered(text: string): void {
  if (/^\{"id":\d+,"error"/u.test(text)) polls.failed += 1;
  else polls.answered += 1;
}

serveQuestions({
  /** Opens the subscriptions; answers when each has its whole snapshot. */
  watch: async (asked: Watch) => {
    let next = 0;
    const opener = async (): Promise<void> => {
      for (let index = next; index < asked.subscribers; index = next) {
        next += 1;
        await open(asked, index);
      }
    };
    await Promise.all(Array.from({ length: Math.min(OPENS_AT_ONCE, asked.subscribers) }, opener));
  },
  /** From now on this text is awaited by every subscriber. */
  expect: (text: string) => {
    wanted = text;
    hits = 0;
    for (const watcher of watchers) watcher.hitMs = 0;
  },
  /** Answers when the last one has it: Unix time of that, in ms. */
  arrived: async () => {
    if (hits < watchers.length)
      await new Promise<void>((resolve) => {
        allHit = resolve;
      });
    return Math.max(...watchers.map(({ hitMs }) => hitMs));
  },
  /** What came of the polls since this was asked last. */
  polled: () => {
    const told = polls;
    polls = { answered: 0, failed: 0 };
    return told;
  },
  /** Forgets which nodes changed. */
  forget: () => {
    flipped = new Set();
  },
  /**
   * Answers when the first subscriber was told of this many nodes and all others are at the same message: Unix time of
   * that, in ms.
   */
  consistent: async (nodes: number) => {
    const isDone = (): boolean =>
      flipped.size >= nodes && watchers.every(({ lastId }) => lastId === watchers[0]?.lastId);
    if (!isDone())
      await new Promise<void>((resolve) => {
        heard = () => {
          if (isDone()) resolve();
        };
      });
    heard = undefined;
    return Math.max(...watchers.map(({ atMs }) => atMs));
  },
});
