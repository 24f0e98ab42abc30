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
 * One that does not answer at a URL within this is dialled at the next one that it may have, in ms: what is left of
 * TUNNEL_OPEN_MS_MAX after it, and after the VPN, is for that.
 */
export const URL_DIAL_MS_MAX = 3_000;

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
   * Opens one to the admin at the first of these http(s) URLs that takes it, or through the VPN when it says that it is
   * there. Returns at once; what fails is logged, and the admin asks again.
   */
  open(adminUrls: readonly string[], token: string, vpnUrl?: string): void {
    const last = adminUrls.length - 1;
    const ways = adminUrls.map((url, place): Way => ({
      admin: url,
      url,
      own: null,
      msMax: place < last ? URL_DIAL_MS_MAX : TUNNEL_OPEN_MS_MAX,
    }));
    const inVpn =
      vpnUrl === undefined ? null : trusted(vpnUrl, this.#options.vpnWay?.() ?? null, adminUrls[0] ?? vpnUrl);
    this.#dial(token, inVpn === null ? ways : [inVpn, ...ways]);
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

  /** By the first way, and by the next one when that comes to nothing. */
  #dial(token: string, [way, ...others]: readonly Way[]): void {
    if (way === undefined || this.#isClosed) return;
    this.#makeRoom();
    const socket = this.#connect(way, token);
    if (socket === null) return this.#dial(token, others);
    let isOpened = false;
    this.#sockets.add(socket);
    socket.on('open', () => {
      isOpened = true;
      this.#server.serve(webSocketStream(socket, TUNNEL_UNREAD_BYTES_MAX));
    });
    socket.on('error', (error) => {
      if (isOpened || others.length === 0) this.#failed(way, error);
      else this.#passedOver(way, error);
    });
    socket.on('close', () => {
      this.#sockets.delete(socket);
      if (!isOpened) this.#dial(token, others);
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
  #connect(way: Way, token: string): WebSocket | null {
    const url = tunnelUrl(way.url);
    const agent = way.own === null && this.#options.outbound?.agentFor(url);
    try {
      return new WebSocket(url, TUNNEL_SUBPROTOCOL, {
        ...(agent && { agent }),
        handshakeTimeout: way.msMax,
        ...this.#options.webSocket,
        ...(way.own !== null && { handshakeTimeout: way.msMax, localAddress: way.own }),
        headers: { authorization: `Bearer ${token}` },
        maxPayload: TUNNEL_MESSAGE_BYTES_MAX,
        perMessageDeflate: false,
        followRedirects: false,
      });
    } catch (error) {
      this.#failed(way, error);
      return null;
    }
  }

  /** Of a way through the VPN nothing but this: its words may name an address there (R3). */
  #failed({ admin, own }: Way, error: unknown): void {
    const problem = own === null ? networkProblem(error) : 'it broke off in the VPN';
    this.#options.log.warn({ admin, problem }, 'A tunnel to the admin failed');
  }

  #passedOver({ admin, own }: Way, error: unknown): void {
    const { log } = this.#options;
    const problem = networkProblem(error);
    if (own === null) log.debug({ admin, problem }, 'The admin is not reached at its own URL: another one is taken');
    else log.debug({ problem }, 'The admin is not reached through the VPN: its usual URL is taken');
  }
}

/** Where an admin is dialled: at a URL, through the VPN from this machine's own address there. Null: not through it. */
interface Way {
  /** The URL by which the log names it. */
  readonly admin: string;
  readonly url: string;
  readonly own: string | null;
  readonly msMax: number;
}

/**
 * What is dialled through the VPN: plain HTTP at the gateway of this machine's own VPN, from its own address
 * there, so that the token can go nowhere else, also when the VPN is away. Null: the URL leads elsewhere, or there
 * is no such way.
 */
function trusted(vpnUrl: string, way: VpnWay | null, admin: string): Way | null {
  const port = /^http:\/\/([\d.]+):(\d{1,5})\/?$/u.exec(vpnUrl);
  return way === null || port?.[1] !== way.gateway
    ? null
    : { admin, url: `http://${way.gateway}:${port[2]}`, own: way.own, msMax: VPN_DIAL_MS_MAX };
}

/** The tunnel's address on an admin: http becomes ws, https becomes wss, a path of the admin's own is kept. */
function tunnelUrl(adminUrl: string): string {
  const url = new URL(adminUrl);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = url.pathname.replace(/\/+$/, '') + TUNNEL_PATH;
  return url.href;
}
