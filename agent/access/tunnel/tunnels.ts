/**
 * Tunnels of this agent: each a WebSocket that an admin asked for, carrying HTTP/2 of which the agent is the server.
 */
import { constants, performServerHandshake } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import type { ClientOptions } from 'ws';
import { TUNNEL_OPEN_MS_MAX } from '../../../transport/protocol/limits.ts';
import {
  FAILURE_HEADER,
  MESSAGE_HEADER,
  STATUS_NOT_DIALLED,
  STREAM_WINDOW_BYTES,
  TUNNEL_FRAME_BYTES,
  TUNNEL_MEMORY_MB_MAX,
  TUNNEL_MESSAGE_BYTES_MAX,
  TUNNEL_PING_MS,
  TUNNEL_SILENCE_MS_MAX,
  TUNNEL_STREAMS_MAX,
  TUNNEL_UNREAD_BYTES_MAX,
  TUNNEL_USES,
  TUNNEL_WINDOW_BYTES,
  USE_HEADER,
} from '../../../transport/protocol/tunnel.ts';
import { TUNNEL_PATH, TUNNEL_SUBPROTOCOL } from '../../../transport/protocol/version.ts';
import { notDialled } from '../../../transport/net/streams/dialled.ts';
import type { Dialled } from '../../../transport/net/streams/dialled.ts';
import { webSocketStream } from '../../../transport/net/streams/web-socket-stream.ts';
import type { Egress } from '../egress/egress.ts';
import type { Log } from '../../../transport/net/log.ts';
import { networkProblem } from '../../problem.ts';

/** Tunnels at once: one an admin, and one more while an old one ends. Above it the oldest is ended. */
export const TUNNELS_MAX = 8;

/** An admin that does not answer through the VPN within this is dialled at its usual URL, in ms. */
export const VPN_DIAL_MS_MAX = 2_000;

/**
 * The way to the admin through the VPN: the gateway of this machine's own VPN, and this machine's own address
 * there. IPv4.
 */
export interface VpnWay {
  readonly gateway: string;
  readonly own: string;
}

/** What tunnels need. */
export interface TunnelsOptions {
  readonly egress: Egress;
  /** Carries the bytes of a stream both ways until it is over. */
  readonly join: (one: Duplex, other: Duplex) => void;
  readonly log: Log;
  /** Null: nothing goes that way now. Left out: this machine is in no VPN. */
  readonly vpnWay?: () => VpnWay | null;
  /** For those who need certificate authorities or another source address. */
  readonly webSocket?: ClientOptions;
}

/** The tunnels of this agent. */
export interface AgentTunnels {
  /**
   * Opens one to the admin at an http(s) URL, or through the VPN when it says that it is there. Returns at once; what
   * fails is logged, and the admin asks again.
   */
  open(adminUrl: string, token: string, vpnUrl?: string): void;
  /** Ends all, with their streams. */
  close(): void;
  count(): number;
  /** Streams that are open in them. */
  readonly streams: number;
}

/** No tunnels at first. */
export function createAgentTunnels(options: TunnelsOptions): AgentTunnels {
  const { log } = options;
  const sockets = new Set<WebSocket>();
  const open = { streams: 0 };
  let isClosed = false;

  /** Through the VPN where there is a way, and else, or when that comes to nothing, at the usual URL. */
  function dial(adminUrl: string, token: string, way: TrustedWay | null): void {
    for (const oldest of sockets) {
      if (sockets.size < TUNNELS_MAX) break;
      sockets.delete(oldest);
      oldest.terminate();
    }
    let socket: WebSocket;
    try {
      socket = new WebSocket(tunnelUrl(way?.url ?? adminUrl), TUNNEL_SUBPROTOCOL, {
        handshakeTimeout: TUNNEL_OPEN_MS_MAX,
        ...options.webSocket,
        ...(way !== null && { handshakeTimeout: VPN_DIAL_MS_MAX, localAddress: way.own }),
        headers: { authorization: `Bearer ${token}` },
        maxPayload: TUNNEL_MESSAGE_BYTES_MAX,
        perMessageDeflate: false,
        followRedirects: false,
      });
    } catch (error) {
      // an admin named a URL or a token with which no request can be made
      log.warn({ admin: adminUrl, problem: networkProblem(error) }, 'A tunnel to the admin failed');
      return;
    }
    let isOpened = false;
    sockets.add(socket);
    socket.on('open', () => {
      isOpened = true;
      serve(webSocketStream(socket, TUNNEL_UNREAD_BYTES_MAX), options, open);
    });
    socket.on('error', (error) => {
      const isOtherLeft = way !== null && !isOpened;
      // Its words may name an address of the VPN (R3).
      if (isOtherLeft)
        log.debug(
          {
            problem: networkProblem(error),
          },
          'The admin is not reached through the VPN: its usual URL is taken',
        );
      else
        log.warn(
          {
            admin: adminUrl,
            problem: way === null ? networkProblem(error) : 'it broke off in the VPN',
          },
          'A tunnel to the admin failed',
        );
    });
    socket.on('close', () => {
      sockets.delete(socket);
      if (way !== null && !isOpened && !isClosed) dial(adminUrl, token, null);
    });
  }

  return {
    open(adminUrl, token, vpnUrl) {
      dial(adminUrl, token, vpnUrl === undefined ? null : trusted(vpnUrl, options.vpnWay?.() ?? null));
    },
    close() {
      isClosed = true;
      for (const socket of sockets) socket.terminate();
    },
    count: () => sockets.size,
    get streams() {
      return open.streams;
    },
  };
}

interface TrustedWay {
  readonly url: string;
  readonly own: string;
}

/**
 * What is dialled through the VPN: plain HTTP at the gateway of this machine's own VPN, from its own address
 * there, so that the token can go nowhere else, also when the VPN is away. Null: the URL leads elsewhere, or there
 * is no such way.
 */
function trusted(vpnUrl: string, way: VpnWay | null): TrustedWay | null {
  const port = /^http:\/\/([\d.]+):(\d{1,5})\/?$/u.exec(vpnUrl);
  return way === null || port?.[1] !== way.gateway ? null : { url: `http://${way.gateway}:${port[2]}`, own: way.own };
}

/** The tunnel's address on an admin: http becomes ws, https becomes wss, a path of the admin's own is kept. */
function tunnelUrl(adminUrl: string): string {
  const url = new URL(adminUrl);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = url.pathname.replace(/\/+$/, '') + TUNNEL_PATH;
  return url.href;
}

function serve(bytes: Duplex, options: TunnelsOptions, open: { streams: number }): void {
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
  session.on('stream', (stream, headers) => {
    open.streams += 1;
    stream.once('close', () => {
      open.streams -= 1;
    });
    connect(stream, headers, options).catch((error: unknown) => {
      options.log.warn({ error }, 'A stream of a tunnel broke off');
      stream.destroy();
    });
  });
  watch(session);
}

/** With an error, or its streams would end as if the admin's clients were done. */
function cut(session: ServerHttp2Session): void {
  if (!session.destroyed) session.destroy(new Error('the tunnel was cut'), constants.NGHTTP2_CANCEL);
}

/** Ends a tunnel whose admin gives no sign of life. */
function watch(session: ServerHttp2Session): void {
  let heardMs = performance.now();
  const timer = setInterval(() => {
    if (session.destroyed) return; // its close follows, and a ping would throw
    if (performance.now() - heardMs > TUNNEL_SILENCE_MS_MAX) return cut(session);
    session.ping((error) => {
      if (error === null) heardMs = performance.now();
    });
  }, TUNNEL_PING_MS).unref();
  session.once('close', () => clearInterval(timer));
}

/** One stream: asked for, dialled, answered, carried. */
async function connect(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { egress, join }: TunnelsOptions,
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
  return egress.dial(target, use, signal);
}

/** `host:port` or `[address]:port`; null when it is neither. */
function targetOf(authority: string | undefined): { readonly host: string; readonly port: number } | null {
  const [, bracketed, bare, digits] =
    /^(?:\[([\da-f:.]+)\]|([^:[\]\s]{1,253})):(\d{1,5})$/iu.exec(authority ?? '') ?? [];
  const host = bracketed ?? bare;
  const port = Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? null : { host, port };
}
