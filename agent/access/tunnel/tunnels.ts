/** Tunnels of this agent: each a WebSocket that an admin asked for. */
import { WebSocket } from 'ws';
import type { ClientOptions } from 'ws';
import { TUNNEL_OPEN_MS_MAX } from '../../../transport/protocol/limits.ts';
import { TUNNEL_MESSAGE_BYTES_MAX, TUNNEL_UNREAD_BYTES_MAX } from '../../../transport/protocol/tunnel.ts';
import { TUNNEL_PATH, TUNNEL_SUBPROTOCOL } from '../../../transport/protocol/version.ts';
import { webSocketStream } from '../../../transport/net/streams/web-socket-stream.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import { networkProblem } from '../../problem.ts';
import { TunnelServer, type TunnelServerOptions } from './tunnel-server.ts';

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
export interface TunnelsOptions extends TunnelServerOptions {
  /** Null: nothing goes that way now. Left out: this machine is in no VPN. */
  readonly vpnWay?: () => VpnWay | null;
  /** How admins are reached at their usual URLs; directly unless said otherwise. */
  readonly outbound?: Outbound;
  /** For those who need certificate authorities or another source address. */
  readonly webSocket?: ClientOptions;
}

/** The tunnels of this agent: none at first. */
export class AgentTunnels {
  readonly #options: TunnelsOptions;
  readonly #server: TunnelServer;
  readonly #sockets = new Set<WebSocket>();
  #isClosed = false;

  constructor(options: TunnelsOptions) {
    this.#options = options;
    this.#server = new TunnelServer(options);
  }

  /**
   * Opens one to the admin at an http(s) URL, or through the VPN when it says that it is there. Returns at once; what
   * fails is logged, and the admin asks again.
   */
  open(adminUrl: string, token: string, vpnUrl?: string): void {
    this.#dial(adminUrl, token, vpnUrl === undefined ? null : trusted(vpnUrl, this.#options.vpnWay?.() ?? null));
  }

  /** Ends all, with their streams. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.terminate();
  }

  count(): number {
    return this.#sockets.size;
  }

  /** Streams that are open in them. */
  get streams(): number {
    return this.#server.streams;
  }

  /** Through the VPN where there is a way, and else, or when that comes to nothing, at the usual URL. */
  #dial(adminUrl: string, token: string, way: TrustedWay | null): void {
    this.#makeRoom();
    const socket = this.#connect(adminUrl, token, way);
    if (socket === null) return;
    let isOpened = false;
    this.#sockets.add(socket);
    socket.on('open', () => {
      isOpened = true;
      this.#server.serve(webSocketStream(socket, TUNNEL_UNREAD_BYTES_MAX));
    });
    socket.on('error', (error) => {
      // Of a way through the VPN nothing but this: its words may name an address there (R3).
      if (way === null) this.#failed(adminUrl, networkProblem(error));
      else if (isOpened) this.#failed(adminUrl, 'it broke off in the VPN');
      else
        this.#options.log.debug(
          { problem: networkProblem(error) },
          'The admin is not reached through the VPN: its usual URL is taken',
        );
    });
    socket.on('close', () => {
      this.#sockets.delete(socket);
      if (way !== null && !isOpened && !this.#isClosed) this.#dial(adminUrl, token, null);
    });
  }

  #makeRoom(): void {
    for (const oldest of this.#sockets) {
      if (this.#sockets.size < TUNNELS_MAX) break;
      this.#sockets.delete(oldest);
      oldest.terminate();
    }
  }

  /** Null: an admin named a URL or a token with which no request can be made. */
  #connect(adminUrl: string, token: string, way: TrustedWay | null): WebSocket | null {
    const url = tunnelUrl(way?.url ?? adminUrl);
    const agent = way === null && this.#options.outbound?.agentFor(url);
    try {
      return new WebSocket(url, TUNNEL_SUBPROTOCOL, {
        ...(agent && { agent }),
        handshakeTimeout: TUNNEL_OPEN_MS_MAX,
        ...this.#options.webSocket,
        ...(way !== null && { handshakeTimeout: VPN_DIAL_MS_MAX, localAddress: way.own }),
        headers: { authorization: `Bearer ${token}` },
        maxPayload: TUNNEL_MESSAGE_BYTES_MAX,
        perMessageDeflate: false,
        followRedirects: false,
      });
    } catch (error) {
      this.#failed(adminUrl, networkProblem(error));
      return null;
    }
  }

  #failed(adminUrl: string, problem: string): void {
    this.#options.log.warn({ admin: adminUrl, problem }, 'A tunnel to the admin failed');
  }
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
