/** A TCP connection to the first of some checked addresses that takes one, and what it means when none does. */
import { connect, type Socket } from 'node:net';
import type { CheckedAddress } from '../../../transport/net/outbound-guard/vetting.ts';
import type { DialFailure } from '../../../transport/net/streams/dialled.ts';

/**
 * Longest wait for one of several addresses before the next is tried, in ms. The last one has what is left. Source:
 * transport/net/outbound-guard/limits.ts.
 */
const ATTEMPT_MS_MAX = 1_000;

/** Silence after which the system asks whether the other end of a stream is still there, in ms. */
const KEEP_ALIVE_MS = 60_000;

/** Why a connection does not come about. */
export type ConnectionFailure = Extract<DialFailure, 'refused' | 'unreachable' | 'timed_out' | 'overloaded' | 'failed'>;

/** A connection, or why there is none: of several addresses, what says most. `code` is the system's word. */
export type Connection =
  | { readonly ok: true; readonly socket: Socket }
  | { readonly ok: false; readonly failure: ConnectionFailure; readonly code: string };

/** What the system's words mean for who asked. All others are `failed`. Source: connect(2), tcp(7), ip(7). */
const FAILURES: Readonly<Record<string, ConnectionFailure>> = {
  ECONNREFUSED: 'refused',
  ETIMEDOUT: 'timed_out',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ENETDOWN: 'unreachable',
  ENONET: 'unreachable',
  EMFILE: 'overloaded',
  ENFILE: 'overloaded',
  ENOBUFS: 'overloaded',
  ENOMEM: 'overloaded',
  EAGAIN: 'overloaded',
  EADDRNOTAVAIL: 'overloaded', // the last: no port is free
};

/**
 * Of several failures the first in this order is told: one that answered "no" says more than a network that this
 * machine has no way to.
 */
const TELLING: readonly ConnectionFailure[] = ['overloaded', 'refused', 'timed_out', 'failed', 'unreachable'];

/** Tries the addresses one after another. Gives up, as `timed_out`, when the signal is aborted. Never rejects. */
export async function connectToFirst(
  addresses: readonly CheckedAddress[],
  port: number,
  signal: AbortSignal,
): Promise<Connection> {
  const codes: string[] = [];
  for (const [index, address] of addresses.entries()) {
    const tried = await attempt(address, port, signal, index === addresses.length - 1 ? undefined : ATTEMPT_MS_MAX);
    if (typeof tried !== 'string') return { ok: true, socket: tried };
    codes.push(tried);
    if (signal.aborted) break;
  }
  const failures = codes.map((code) => ({ ok: false as const, failure: FAILURES[code] ?? 'failed', code }));
  return (
    failures.toSorted((a, b) => TELLING.indexOf(a.failure) - TELLING.indexOf(b.failure))[0] ?? {
      ok: false,
      failure: 'failed',
      code: 'no address',
    }
  );
}

/** A connected socket that reads nothing before somebody listens, or the code of what went wrong. */
function attempt(
  { address, family }: CheckedAddress,
  port: number,
  signal: AbortSignal,
  msMax: number | undefined,
): Promise<Socket | string> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve('ETIMEDOUT');
    const socket = connect({
      host: address,
      family,
      port,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    });
    const giveUp = () => {
      fail('ETIMEDOUT');
    };
    const timer = msMax === undefined ? undefined : setTimeout(giveUp, msMax);
    signal.addEventListener('abort', giveUp);
    socket.once('connect', () => {
      if (isOwnEcho(socket)) fail('ECONNREFUSED');
      else settle(socket);
    });
    // Stays for good: a connection that breaks before its owner listens must not end the agent.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      settle(error.code ?? error.message);
    });

    function fail(code: string): void {
      socket.destroy();
      settle(code);
    }

    function settle(outcome: Socket | string): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      resolve(outcome);
    }
  });
}

/**
 * TCP connects a socket to itself when it dials a port of this machine that nobody has and is given just that one to
 * dial from.
 */
function isOwnEcho(socket: Socket): boolean {
  return socket.localPort === socket.remotePort && socket.localAddress === socket.remoteAddress;
}
