/**
 * One tunnel on the admin: HTTP/2 over a connection of an agent, which is the server. Opens streams; decides nothing.
 */
import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { Duplex } from 'node:stream';
import {
  FAILURE_HEADER,
  MESSAGE_HEADER,
  SERVER_HEADER,
  STREAM_WINDOW_BYTES,
  TUNNEL_FRAME_BYTES,
  TUNNEL_MEMORY_MB_MAX,
  TUNNEL_PING_MS,
  TUNNEL_SILENCE_MS_MAX,
  TUNNEL_STREAMS_MAX,
  TUNNEL_WINDOW_BYTES,
  USE_HEADER,
} from '../protocol/tunnel.ts';
import type { TunnelServer, TunnelUse } from '../protocol/tunnel.ts';
import { DIAL_FAILURES, notDialled } from '../net/streams/dialled.ts';
import type { Dialled } from '../net/streams/dialled.ts';
import type { Intake } from '../net/streams/paced-pieces.ts';
import { Pings } from '../net/streams/pings.ts';
import type { FrameQuota } from './frame-quota.ts';
import { STREAM_OPEN_MS_MAX } from './limits.ts';

/** Where a stream goes once it is at the machine. `host` of a `self` stream is only for its logs. */
export interface TunnelTarget {
  readonly use: TunnelUse;
  readonly host: string;
  readonly port: number;
  /** Of a `self` stream: the server of the agent that is meant, whoever has the port. */
  readonly server?: TunnelServer;
}

/** What one tunnel needs besides its bytes. */
export interface TunnelOwner {
  readonly monotonicMs: () => number;
  /** What may come, and how much of it is handled at once. */
  readonly quota: FrameQuota;
  /** Called once, when it is over. */
  readonly closed: () => void;
}

/** An open tunnel over the bytes that it opens. */
export class Tunnel {
  readonly #bytes: Duplex;
  readonly #session: ClientHttp2Session;
  readonly #nowMs: () => number;
  #streams = 0;
  #isMet = false;
  #isCut = false;
  #idleSinceMs: number;
  readonly #pings: Pings;

  constructor(open: (intake: Intake) => Duplex, { monotonicMs: nowMs, quota, closed }: TunnelOwner) {
    this.#nowMs = nowMs;
    this.#idleSinceMs = nowMs();
    this.#pings = new Pings(nowMs());
    const bytes = open({
      take: (chunk) => {
        const atMs = nowMs();
        this.#pings.answered(atMs);
        return quota.take(chunk, atMs);
      },
      pass: (waiting) => quota.pass(waiting, nowMs()),
    });
    const session = connect('http://tunnel', {
      createConnection: () => bytes,
      maxSessionMemory: TUNNEL_MEMORY_MB_MAX,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES, maxFrameSize: TUNNEL_FRAME_BYTES },
    });
    this.#bytes = bytes;
    this.#session = session;
    session.on('connect', () => {
      if (!session.destroyed) session.setLocalWindowSize(TUNNEL_WINDOW_BYTES);
    }); // it may be cut by what came with its first bytes
    session.once('remoteSettings', () => {
      this.#isMet = true;
    });
    session.on('error', () => {}); // `close` follows
    session.on('close', () => {
      bytes.destroy();
      closed();
    });
    bytes.on('close', () => this.#destroyed());
  }

  /** Opens a stream; it is connected at the far end when this resolves. Never rejects. */
  open(target: TunnelTarget, signal: AbortSignal): Promise<Dialled> {
    if (!this.isOpen) return Promise.resolve(notDialled('offline', 'The connection to the machine was lost.'));
    if (this.#streams >= TUNNEL_STREAMS_MAX)
      return Promise.resolve(
        notDialled(
          'overloaded',
          `More than ${TUNNEL_STREAMS_MAX} connections to this machine are open: close some, or try again later.`,
        ),
      );
    if (signal.aborted) return Promise.resolve(notDialled('timed_out', 'It took too long to connect.'));
    this.#streams += 1;
    const stream = this.#session.request(
      {
        [constants.HTTP2_HEADER_METHOD]: 'CONNECT',
        [constants.HTTP2_HEADER_AUTHORITY]: authorityOf(target),
        [USE_HEADER]: target.use,
        ...(target.server !== undefined && { [SERVER_HEADER]: target.server }),
      },
      { endStream: false },
    );
    stream.once('close', () => this.#ended());
    stream.once('headers', () => this.destroy()); // interim answers, which no agent sends
    return answered(stream, signal);
  }

  /** False once it takes no new streams: it ends, or has ended. */
  get isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /** Its agent ended it and never said a word on it: it had given up what was read here later. */
  get isStillborn(): boolean {
    return !this.isOpen && !this.#isMet && !this.#isCut;
  }

  /** False: a sign of life that it was asked for is not there yet. */
  get isHeard(): boolean {
    return this.#pings.isAnswered;
  }

  /** For how long there was no stream that is open or being opened, in ms. */
  idleMs(nowMs: number): number {
    return this.#streams > 0 ? 0 : nowMs - this.#idleSinceMs;
  }

  /** Asks for a sign of life when it is time, and ends a tunnel that gave none. */
  beat(nowMs: number): void {
    if (this.#session.destroyed || nowMs - this.#pings.quietSinceMs < TUNNEL_PING_MS) return;
    if (this.#pings.isOver(nowMs, TUNNEL_SILENCE_MS_MAX)) return this.destroy();
    this.#pings.asked(nowMs);
    this.#session.ping(() => {}); // the answer is heard as all that comes
  }

  /** Refuses new streams and ends when the last one did. */
  close(): void {
    this.#session.close();
  }

  /** Ends it at once. */
  destroy(): void {
    this.#isCut = true;
    this.#destroyed();
  }

  /**
   * With an error, or its streams would end as if their far ends were done. One that said goodbye waits for its agent
   * no longer.
   */
  #destroyed(): void {
    if (this.#session.destroyed) this.#bytes.destroy();
    else this.#session.destroy(new Error('the tunnel was cut'), constants.NGHTTP2_CANCEL);
  }

  #ended(): void {
    this.#streams -= 1;
    if (this.#streams === 0) this.#idleSinceMs = this.#nowMs();
  }
}

/** The answer to a CONNECT: the stream itself, or why there is none. */
function answered(stream: ClientHttp2Stream, signal: AbortSignal): Promise<Dialled> {
  const { promise, resolve } = Promise.withResolvers<Dialled>();
  const timer = setTimeout(giveUp, STREAM_OPEN_MS_MAX);
  signal.addEventListener('abort', giveUp, { once: true });

  function settle(dialled: Dialled): void {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
    stream.off('close', lost);
    if (!dialled.ok) stream.close(constants.NGHTTP2_CANCEL);
    resolve(dialled);
  }
  function giveUp(): void {
    settle(notDialled('timed_out', 'It took too long to connect.'));
  }
  function lost(): void {
    settle(notDialled('offline', 'The connection to the machine was lost.'));
  }

  stream.once('close', lost);
  stream.on('error', () => {}); // `close` follows, and whoever has the stream by then hears of both
  stream.once('response', (headers) => settle(headers[':status'] === 200 ? { ok: true, stream } : failureOf(headers)));
  return promise;
}

function failureOf(headers: IncomingHttpHeaders): Dialled {
  const word = headers[FAILURE_HEADER];
  const failure = DIAL_FAILURES.find((known) => known === word) ?? 'failed';
  return notDialled(failure, sentenceOf(headers[MESSAGE_HEADER]));
}

function sentenceOf(header: string | string[] | undefined): string {
  try {
    return typeof header === 'string'
      ? decodeURIComponent(header)
          .replaceAll(/[\p{C}\u2028\u2029]+/gu, ' ')
          .slice(0, 512)
      : 'The machine did not say why.'; // it ends up in terminals
  } catch {
    return 'The machine did not say why.'; // not percent-encoded: another version's words
  }
}

function authorityOf({ host, port }: TunnelTarget): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
