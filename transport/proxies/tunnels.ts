/** Opening a tunnel for a client: dial first, then answer, then join. */
import type { Socket } from 'node:net';
import type { Dialled, DialFailure } from '../net/streams/dialled.ts';
import type { Joins } from '../net/streams/join.ts';
import { reset } from '../net/streams/reset.ts';
import type { ProxyCounters } from './counters.ts';
import { createDeadlines } from './deadlines.ts';
import type { ClientConnections } from './client-connections.ts';
import { EARLY_BYTES_MAX } from './limits.ts';
import type { DialRequest } from './ports.ts';
import type { Serving } from './serving.ts';

/** What a protocol says to a client once the dial is over. */
export interface Answers {
  readonly connected: Buffer | string;
  refused(failure: DialFailure, message: string): Buffer | string;
}

/** One dial under way. */
interface Attempt {
  readonly over: (dialled: Dialled) => void;
}

/** Dials within the time limit. `done` is called once, unless the returned function gave up before. */
export type Dial = (request: DialRequest, done: (dialled: Dialled) => void) => () => void;

const LATE: Dialled = { ok: false, failure: 'timed_out', message: 'The target did not take the connection in time.' };
const BROKEN: Dialled = { ok: false, failure: 'failed', message: 'The connection could not be opened.' };

/** Makes the one way to dial: counted, logged, and given up at the limit or when the client is gone. */
export function createDial({ ports, log, limits }: Serving, counters: ProxyCounters): Dial {
  const attempts = createDeadlines<Attempt>(limits.connectMsMax, ({ over }) => over(LATE));

  return (request, done) => {
    const controller = new AbortController();
    let isOver = false;
    const attempt: Attempt = { over };
    attempts.add(attempt);
    ports.dial(request, controller.signal).then(over, (error: unknown) => {
      log.warn({ error, host: request.host, port: request.port }, 'a dial for a proxy broke');
      over(BROKEN);
    });
    return () => {
      if (isOver) return;
      isOver = true;
      attempts.delete(attempt);
      controller.abort();
    };

    function over(dialled: Dialled): void {
      if (isOver) {
        if (dialled.ok) reset(dialled.stream); // too late
        return;
      }
      isOver = true;
      attempts.delete(attempt);
      if (dialled === LATE) controller.abort();
      count(request, dialled);
      done(dialled);
    }
  };

  function count({ host, port }: DialRequest, dialled: Dialled): void {
    counters.dials[dialled.ok ? 'connected' : dialled.failure] += 1;
    if (dialled.ok) return;
    if (dialled.failure === 'blocked' || dialled.failure === 'loop') counters.blocked[dialled.failure] += 1;
    log.debug({ host, port, failure: dialled.failure }, 'a proxy opened no stream');
  }
}

/**
 * Opens a tunnel for an admitted client. `head` is what it sent already; what it sends until the stream is open goes
 * first, too.
 * When it goes away meanwhile the dial is given up.
 */
export function openTunnel(
  socket: Socket,
  request: DialRequest,
  head: Buffer | null,
  answers: Answers,
  { dial, joins, clients }: { readonly dial: Dial; readonly joins: Joins; readonly clients: ClientConnections },
): void {
  const early = head === null || head.length === 0 ? [] : [head];
  let earlyBytes = head?.length ?? 0;
  socket.on('data', keep);
  const giveUp = dial(request, (dialled) => {
    socket.off('data', keep);
    socket.off('close', giveUp);
    if (!dialled.ok) return clients.dismiss(socket, answers.refused(dialled.failure, dialled.message));
    socket.write(answers.connected);
    return joins.join(socket, dialled.stream, early.length > 1 ? Buffer.concat(early) : (early[0] ?? null));
  });
  socket.once('close', giveUp);

  function keep(chunk: Buffer): void {
    early.push(chunk);
    earlyBytes += chunk.length;
    if (earlyBytes >= EARLY_BYTES_MAX) socket.pause();
  }
}
