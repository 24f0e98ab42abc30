/**
 * Tunnels of this agent, each of which an admin asked for: HTTP/2 on the connection itself where that admin takes it
 * and nothing in between is against it, else in a WebSocket.
 */
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import type { Agent } from 'node:http';
import type { ClientOptions } from 'ws';
import { TUNNEL_OPEN_MS_MAX } from '../../../transport/protocol/limits.ts';
import { TUNNEL_MESSAGE_BYTES_MAX, TUNNEL_UNREAD_BYTES_MAX } from '../../../transport/protocol/tunnel.ts';
import { TUNNEL_SUBPROTOCOL } from '../../../transport/protocol/version.ts';
import { HANDSHAKE_SILENCES, handshakeWithin } from '../../../transport/net/streams/handshake-limit.ts';
import { webSocketStream } from '../../../transport/net/streams/web-socket-stream.ts';
import type { TunnelWays } from '../../session/ports.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import { networkProblem } from '../../problem.ts';
import { TunnelServer, type ServedTunnel, type TunnelServerOptions } from './tunnel-server.ts';
import { askForUpgrade, type Upgraded } from './upgraded-connection.ts';
import { tunnelUrl, waysTo, type VpnWay, type Way } from './ways.ts';

/**
 * Tunnels at once: one an admin, one more to it through the VPN, and one while an old one ends. Above it the
 * oldest without streams is ended, or the oldest of all where each has some or is new.
 */
export const TUNNELS_MAX = 8;

/**
 * A new one without streams stays for so long, in ms: whoever asked for it opens the first within a round trip or two,
 * and admins that ask in one moment would end each other's.
 */
export const NEW_TUNNEL_MS = 5_000;

/** Where a proxy in between knows WebSockets alone, these are taken at once for so long, in ms. */
const WEB_SOCKETS_ONLY_MS = 600_000;

/** URLs of which that is known. More admins than these are tried each time. */
const WEB_SOCKETS_ONLY_MAX = 64;

/** What tunnels need. */
export interface TunnelsOptions extends TunnelServerOptions {
  /** Null: nothing goes that way now. Left out: this machine is in no VPN. */
  readonly vpnWay?: () => VpnWay | null;
  /** How admins are reached at their usual URLs; directly unless said otherwise. */
  readonly outbound?: Outbound;
  /** For those who need certificate authorities or another source address. */
  readonly webSocket?: Pick<ClientOptions, 'ca' | 'localAddress'>;
  /** Never goes back, in ms; the clock of this process unless given. */
  readonly monotonicMs?: () => number;
}

/** The tunnels of this agent: none at first. */
export class AgentTunnels {
  readonly #options: TunnelsOptions;
  readonly #server: TunnelServer;
  readonly #nowMs: () => number;
  readonly #open = new Set<Connection>();
  /** Until when, by URL. */
  readonly #webSocketsOnly = new Map<string, number>();
  #isClosed = false;

  constructor(options: TunnelsOptions) {
    this.#options = options;
    this.#server = new TunnelServer(options);
    this.#nowMs = options.monotonicMs ?? (() => performance.now());
  }

  /**
   * Opens one to the admin at the first of these http(s) URLs that takes it, or through the VPN when it says that it is
   * there. Returns at once; what fails is logged, and the admin asks again.
   */
  open(adminUrls: readonly string[], token: string, { vpnUrl, isHttp2 = false }: TunnelWays = {}): void {
    this.#dial({ token, isHttp2 }, waysTo(adminUrls, vpnUrl, this.#options.vpnWay?.() ?? null));
  }

  /** Ends all, with their streams. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#open) connection.end();
  }

  count(): number {
    return this.#open.size;
  }

  /** Streams that are open in them. */
  get streams(): number {
    return [...this.#open].reduce((sum, connection) => sum + connection.streams(), 0);
  }

  /** By the first way, and by the next one when that comes to nothing. */
  #dial(asked: Asked, [way, ...others]: readonly Way[]): void {
    if (way === undefined || this.#isClosed) return;
    this.#makeRoom();
    const isDialled =
      asked.isHttp2 && way.isTried !== true && !this.#isWebSocketsOnly(way.url)
        ? this.#upgrade(asked, way, others)
        : this.#openWebSocket(asked, way, others);
    if (!isDialled) this.#dial(asked, others);
  }

  #makeRoom(): void {
    const idleFirst = [...this.#open].toSorted((one, other) => Number(this.#isIdle(other)) - Number(this.#isIdle(one)));
    for (const connection of idleFirst) {
      if (this.#open.size < TUNNELS_MAX) break;
      this.#open.delete(connection);
      connection.end();
    }
  }

  #isIdle({ servedSinceMs, streams }: Connection): boolean {
    return servedSinceMs !== null && streams() === 0 && this.#nowMs() - servedSinceMs >= NEW_TUNNEL_MS;
  }

  #serve(connection: Connection, bytes: Duplex): ServedTunnel {
    const served = this.#server.serve(bytes);
    connection.servedSinceMs = this.#nowMs();
    connection.streams = served.streams;
    return served;
  }

  /** False: an admin named a URL or a token with which no request can be made. */
  #upgrade(asked: Asked, way: Way, others: readonly Way[]): boolean {
    const connection: Connection = { end: () => {}, servedSinceMs: null, streams: () => 0 };
    const url = tunnelUrl(way.url);
    const { msMax } = way;
    const ask = { url, token: asked.token, msMax, agent: this.#agentFor(way, url), options: this.#dialOptions(way) };
    try {
      connection.end = askForUpgrade(ask, (came) => {
        if (came.type === 'open') return this.#serveUpgraded(connection, came.socket, { asked, way, others });
        this.#open.delete(connection);
        return this.#notUpgraded(came, { asked, way, others });
      });
    } catch (error) {
      this.#failed(way, error);
      return false;
    }
    this.#open.add(connection);
    return true;
  }

  #serveUpgraded(connection: Connection, socket: Duplex, dialling: Dialling): void {
    connection.end = () => void socket.destroy();
    const session = this.#serve(connection, socket);
    socket.once('close', () => {
      const isOurEnd = !this.#open.delete(connection);
      // whoever is between let the upgrade through, and nothing behind it
      if (!isOurEnd && !session.isHeard()) this.#takeWebSocket(dialling);
    });
  }

  #notUpgraded(came: Exclude<Upgraded, { type: 'open' }>, dialling: Dialling): void {
    if (came.type === 'refused' && came.status !== UNAUTHORIZED) {
      const { admin } = dialling.way;
      this.#options.log.debug({ admin, status: came.status }, 'A tunnel without a WebSocket is not let through');
      return this.#takeWebSocket(dialling, came.status !== BUSY);
    }
    const { asked, way, others } = dialling;
    const error = came.type === 'failed' ? came.error : new Error(`Unexpected server response: ${came.status}`);
    if (others.length === 0) this.#failed(way, error);
    else this.#passedOver(way, error);
    return this.#dial(asked, others);
  }

  /** The token is still good where nothing reached the admin. `isLasting`: the next tunnels there take one at once. */
  #takeWebSocket({ asked, way, others }: Dialling, isLasting = true): void {
    if (isLasting) this.#noteWebSocketsOnly(way.url);
    this.#dial(asked, [{ ...way, isTried: true }, ...others]);
  }

  #isWebSocketsOnly(url: string): boolean {
    return this.#nowMs() < (this.#webSocketsOnly.get(url) ?? -Infinity);
  }

  #noteWebSocketsOnly(url: string): void {
    this.#webSocketsOnly.delete(url);
    for (const oldest of this.#webSocketsOnly.keys()) {
      if (this.#webSocketsOnly.size < WEB_SOCKETS_ONLY_MAX) break;
      this.#webSocketsOnly.delete(oldest);
    }
    this.#webSocketsOnly.set(url, this.#nowMs() + WEB_SOCKETS_ONLY_MS);
  }

  /** False: as of `#upgrade`. */
  #openWebSocket(asked: Asked, way: Way, others: readonly Way[]): boolean {
    const socket = this.#webSocket(way, asked.token);
    if (socket === null) return false;
    const connection: Connection = { end: () => socket.terminate(), servedSinceMs: null, streams: () => 0 };
    let isOpened = false;
    this.#open.add(connection);
    socket.on('open', () => {
      isOpened = true;
      this.#serve(connection, webSocketStream(socket, TUNNEL_UNREAD_BYTES_MAX));
    });
    socket.on('error', (error) => {
      if (isOpened || others.length === 0) this.#failed(way, error);
      else this.#passedOver(way, error);
    });
    socket.on('close', () => {
      this.#open.delete(connection);
      if (!isOpened) this.#dial(asked, others);
    });
    return true;
  }

  #webSocket(way: Way, token: string): WebSocket | null {
    const url = tunnelUrl(way.url).replace(/^http/u, 'ws');
    const agent = this.#agentFor(way, url);
    try {
      return new WebSocket(url, TUNNEL_SUBPROTOCOL, {
        ...(agent && { agent }),
        handshakeTimeout: way.msMax,
        // no admin waits for longer
        finishRequest: handshakeWithin(Math.min(HANDSHAKE_SILENCES * way.msMax, TUNNEL_OPEN_MS_MAX)),
        ...this.#dialOptions(way),
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

  #agentFor({ own }: Way, url: string): Agent | false {
    return own === null && (this.#options.outbound?.agentFor(url) ?? false);
  }

  #dialOptions({ own }: Way) {
    const { webSocket } = this.#options;
    return { ...webSocket, ...(own !== null && { localAddress: own }) };
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

/** One that is open, or being opened. */
interface Connection {
  end: () => void;
  /** Null: it is being opened. */
  servedSinceMs: number | null;
  streams: () => number;
}

/** What an admin asked for. */
interface Asked {
  readonly token: string;
  readonly isHttp2: boolean;
}

/** By which way it is dialled, and by which it may be next. */
interface Dialling {
  readonly asked: Asked;
  readonly way: Way;
  readonly others: readonly Way[];
}

/** The answer of an admin or a balancer that has no room for now. */
const BUSY = 503;

/** The answer to a token that nobody waits for. A WebSocket would get the same. */
const UNAUTHORIZED = 401;
