/** The agent's end of a tunnel: an HTTP/2 server over its bytes, whose streams are dialled from here. */
import { constants, performServerHandshake } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import {
  FAILURE_HEADER,
  MESSAGE_HEADER,
  SERVER_HEADER,
  STATUS_NOT_DIALLED,
  STREAM_WINDOW_BYTES,
  TUNNEL_FRAME_BYTES,
  TUNNEL_MEMORY_MB_MAX,
  TUNNEL_PING_MS,
  TUNNEL_SERVERS,
  TUNNEL_SILENCE_MS_MAX,
  TUNNEL_STREAMS_MAX,
  TUNNEL_USES,
  TUNNEL_WINDOW_BYTES,
  USE_HEADER,
} from '../../../transport/protocol/tunnel.ts';
import { notDialled } from '../../../transport/net/streams/dialled.ts';
import type { Dialled } from '../../../transport/net/streams/dialled.ts';
import { Pings } from '../../../transport/net/streams/pings.ts';
import type { Egress } from '../egress/egress.ts';
import type { Log } from '../../../transport/net/log.ts';

/** What its streams need. */
export interface TunnelServerOptions {
  readonly egress: Egress;
  /** Carries the bytes of a stream both ways until it is over. */
  readonly join: (one: Duplex, other: Duplex) => void;
  readonly log: Log;
}

/** A tunnel that is served. */
export interface ServedTunnel {
  /** Whether the admin's end was ever heard. */
  readonly isHeard: () => boolean;
  /** Those that are open in it. */
  readonly streams: () => number;
}

/** Serves tunnels. */
export class TunnelServer {
  readonly #options: TunnelServerOptions;

  constructor(options: TunnelServerOptions) {
    this.#options = options;
  }

  /** A tunnel's bytes, until either end has enough. */
  serve(bytes: Duplex): ServedTunnel {
    const session = performServerHandshake(bytes, {
      maxSessionMemory: TUNNEL_MEMORY_MB_MAX,
      settings: {
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxFrameSize: TUNNEL_FRAME_BYTES,
        maxConcurrentStreams: TUNNEL_STREAMS_MAX,
      },
    });
    session.setLocalWindowSize(TUNNEL_WINDOW_BYTES);
    bytes.on('error', () => {}); // `close` follows
    bytes.on('close', () => cut(session));
    session.on('error', () => bytes.destroy());
    session.on('close', () => bytes.destroy());
    let streams = 0;
    session.on('stream', (stream, headers) => {
      streams += 1;
      stream.once('close', () => {
        streams -= 1;
      });
      this.#taken(stream, headers);
    });
    let isHeard = false;
    session.once('remoteSettings', () => {
      isHeard = true;
    });
    watch(session);
    return { isHeard: () => isHeard, streams: () => streams };
  }

  #taken(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    connect(stream, headers, this.#options).catch((error: unknown) => {
      this.#options.log.warn({ error }, 'A stream of a tunnel broke off');
      stream.destroy();
    });
  }
}

/** With an error, or its streams would end as if the admin's clients were done. */
function cut(session: ServerHttp2Session): void {
  if (!session.destroyed) session.destroy(new Error('the tunnel was cut'), constants.NGHTTP2_CANCEL);
}

/** Ends a tunnel whose admin gives no sign of life. */
function watch(session: ServerHttp2Session): void {
  const pings = new Pings(performance.now());
  const timer = setInterval(() => {
    if (session.destroyed) return; // its close follows, and a ping would throw
    const nowMs = performance.now();
    if (pings.isOver(nowMs, TUNNEL_SILENCE_MS_MAX)) return cut(session);
    pings.asked(nowMs);
    session.ping((error) => {
      if (error === null) pings.answered(performance.now());
    });
  }, TUNNEL_PING_MS).unref();
  session.once('close', () => clearInterval(timer));
}

/** One stream: asked for, dialled, answered, carried. */
async function connect(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { egress, join }: TunnelServerOptions,
): Promise<void> {
  stream.on('error', () => {}); // `close` follows, which ends the other side
  const given = new AbortController();
  const gone = (): void => given.abort();
  stream.once('close', gone);
  const dialled = await dialTarget(headers, egress, given.signal);
  stream.off('close', gone);
  if (stream.destroyed || stream.closed) {
    if (dialled.ok) dialled.stream.destroy();
    return;
  }
  if (dialled.ok) {
    stream.respond({ [constants.HTTP2_HEADER_STATUS]: 200 });
    join(stream, dialled.stream);
  } else {
    stream.respond(
      {
        [constants.HTTP2_HEADER_STATUS]: STATUS_NOT_DIALLED,
        [FAILURE_HEADER]: dialled.failure,
        [MESSAGE_HEADER]: encodeURIComponent(dialled.message.toWellFormed()),
      },
      { endStream: true },
    );
  }
}

async function dialTarget(headers: IncomingHttpHeaders, egress: Egress, signal: AbortSignal): Promise<Dialled> {
  const use = TUNNEL_USES.find((known) => known === headers[USE_HEADER]);
  const target = targetOf(headers[':authority']);
  if (headers[':method'] !== 'CONNECT' || use === undefined || target === null)
    return notDialled('failed', 'The admin asked in a way that this agent does not understand: update one of them.');
  const server = use === 'self' ? TUNNEL_SERVERS.find((known) => known === headers[SERVER_HEADER]) : undefined;
  return egress.dial({ ...target, ...(server !== undefined && { server }) }, use, signal);
}

/** `host:port` or `[address]:port`; null when it is neither. */
function targetOf(authority: string | undefined): { readonly host: string; readonly port: number } | null {
  const [, bracketed, bare, digits] =
    /^(?:\[([\da-f:.]+)\]|([^:[\]\s]{1,253})):(\d{1,5})$/iu.exec(authority ?? '') ?? [];
  const host = bracketed ?? bare;
  const port = Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? null : { host, port };
}
