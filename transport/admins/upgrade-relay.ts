/**
 * Tunnels that came in here and are another admin's, as where a balancer stands before all: their upgrade is passed on
 * to that admin, and the bytes after it both ways.
 */
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../net/log.ts';
import { Joins } from '../net/streams/join.ts';
import { TUNNEL_PATH } from '../protocol/version.ts';
import type { ReceivedTunnel, TunnelRelay, TunnelUpgrade } from '../tunnels/gate.ts';
import { tagIn, tagOf } from '../tunnels/token.ts';
import { CARRIED_STREAMS_MAX, RELAY_OPEN_MS_MAX, RELAYS_OPENING_MAX } from './limits.ts';
import type { PeerKeys } from './peer-key.ts';
import type { PeerProofs } from './peer-proofs.ts';
import type { Peer, Peers } from './peers.ts';
import { PEER_HEADER, RELAYED_HEADER } from './protocol/version.ts';

/** What the proof of an upgrade is bound to besides its header. */
export const TUNNEL_ROUTE = `GET ${TUNNEL_PATH}`;

/** What the relay needs. */
export interface UpgradeRelayPorts {
  readonly keys: PeerKeys;
  readonly proofs: PeerProofs;
  readonly peers: Pick<Peers, 'all'>;
  /** By the database's clock; its timers are those of this machine. */
  readonly clock: Clock;
  readonly log: Log;
  /** Default: RELAYS_OPENING_MAX. */
  readonly openingMax?: number;
  /** Default: CARRIED_STREAMS_MAX. */
  readonly carriedMax?: number;
}

/** Nothing is passed on at first. */
export class UpgradeRelay implements TunnelRelay {
  /** What became of upgrades that were to be passed on, since the start. */
  readonly outcomes = { carried: 0, unauthorized: 0, failed: 0, full: 0 };
  readonly #ports: UpgradeRelayPorts;
  readonly #joins = new Joins();
  readonly #opening = new Set<ClientRequest>();
  #isClosed = false;

  constructor(ports: UpgradeRelayPorts) {
    this.#ports = ports;
  }

  /** Upgrades that are passed on and not answered yet, and those whose bytes go both ways. */
  get open(): { readonly opening: number; readonly carried: number } {
    return { opening: this.#opening.size, carried: this.#joins.open };
  }

  received(request: IncomingMessage): ReceivedTunnel | null {
    if (request.headers[PEER_HEADER] === undefined) return null;
    const { proofs, keys } = this.#ports;
    const proof = proofs.judge(TUNNEL_ROUTE, request);
    if (proof.type === 'misdirected') return MISDIRECTED;
    if (proof.type === 'full') return BUSY;
    const sealed = request.headers[RELAYED_HEADER];
    const token =
      proof.type === 'proven' && typeof sealed === 'string'
        ? keys.openCall(proof.header, Buffer.from(sealed, 'base64url'))
        : null;
    if (token !== null) return { token: token.toString('latin1') };
    proofs.refused(request);
    return WRONG;
  }

  passOn(token: string, upgrade: TunnelUpgrade): boolean {
    const { peers, openingMax = RELAYS_OPENING_MAX, carriedMax = CARRIED_STREAMS_MAX } = this.#ports;
    const tag = tagIn(token);
    const peer = tag === null ? undefined : peers.all().find(({ id }) => tagOf(id) === tag);
    if (peer === undefined) return false;
    const isFull = this.#opening.size >= openingMax || this.#joins.open + this.#opening.size >= carriedMax;
    if (isFull || this.#isClosed) {
      this.outcomes.full += 1;
      answer(upgrade.socket, UNAVAILABLE);
    } else this.#dial(peer, token, upgrade);
    return true;
  }

  /** Takes no more, and ends what is open, on both sides. */
  close(): void {
    this.#isClosed = true;
    for (const asked of this.#opening) asked.destroy();
    void this.#joins.drain(0);
  }

  #dial(peer: Peer, token: string, upgrade: TunnelUpgrade): void {
    const { clock } = this.#ports;
    const { request, socket: near, head } = upgrade;
    const asked = this.#asked(peer, token, request);
    this.#opening.add(asked);
    const cancel = clock.after(RELAY_OPEN_MS_MAX, () => asked.destroy());
    let isOver = false;
    const settled = (): boolean => {
      if (isOver) return false;
      isOver = true;
      cancel();
      this.#opening.delete(asked);
      near.off('close', gone);
      return true;
    };
    const gone = (): void => void asked.destroy();
    near.once('close', gone);
    asked.on('error', () => {}); // `close` follows
    asked.once('close', () => {
      if (settled()) this.#failed(peer, near, 'no answer');
    });
    asked.once('response', (response) => {
      response.resume();
      if (settled()) this.#refused(peer, upgrade, response.statusCode ?? 0);
      asked.destroy();
    });
    asked.once('upgrade', (response, far, farHead) => {
      if (settled()) {
        near.write(switched(response));
        if (farHead.length > 0) near.write(farHead);
        this.outcomes.carried += 1;
        this.#joins.join(near, far, head);
      } else far.destroy();
    });
    asked.end();
  }

  #asked(peer: Peer, token: string, { headers }: IncomingMessage): ClientRequest {
    const { keys, clock } = this.#ports;
    const header = keys.header(TUNNEL_ROUTE, peer.instance, clock.nowMs());
    const url = new URL(peer.url);
    const place = {
      host: url.hostname.replace(/^\[|\]$/gu, ''),
      port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
    };
    const plain = { ...place, allowHalfOpen: true, noDelay: true };
    const dial = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return dial({
      ...place,
      path: `${url.pathname.replace(/\/+$/u, '')}${TUNNEL_PATH}`,
      headers: {
        ...Object.fromEntries(
          PASSED_ON.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
        ),
        host: url.host,
        [PEER_HEADER]: header.text,
        [RELAYED_HEADER]: keys.sealCall(header, Buffer.from(token, 'latin1')).toString('base64url'),
      },
      createConnection: () =>
        url.protocol === 'https:'
          ? connectTls({ ...plain, servername: place.host, ALPNProtocols: ['http/1.1'] })
          : connect(plain),
    });
  }

  /** It is there, and does not take it. */
  #refused(peer: Peer, { socket, wrong }: TunnelUpgrade, status: number): void {
    if (status !== 401) return this.#failed(peer, socket, `the status ${status}`);
    this.outcomes.unauthorized += 1;
    wrong();
    answer(socket, UNAUTHORIZED);
  }

  #failed({ name }: Peer, near: Duplex, problem: string): void {
    this.#ports.log.debug({ admin: name, problem }, 'a tunnel could not be passed on to its admin');
    this.outcomes.failed += 1;
    answer(near, UNAVAILABLE);
  }
}

const MISDIRECTED: ReceivedTunnel = { refused: '421 Misdirected Request' };
const BUSY: ReceivedTunnel = { refused: '503 Service Unavailable' };
const WRONG: ReceivedTunnel = { refused: '401 Unauthorized' };

/** What makes the upgrade (RFC 6455, 4.1), and nothing else of what the agent sent. */
const PASSED_ON = [
  'upgrade',
  'connection',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
];

/** And of the answer (RFC 6455, 4.2.2). */
const ANSWERED = new Set([
  'upgrade',
  'connection',
  'sec-websocket-accept',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
]);

const UNAUTHORIZED = '401 Unauthorized\r\nwww-authenticate: Bearer';
const UNAVAILABLE = '503 Service Unavailable\r\nretry-after: 1';

function switched({ rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 && ANSWERED.has(name.toLowerCase()) ? [`${name}: ${rawHeaders[at + 1] ?? ''}\r\n`] : [],
  );
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`;
}

function answer(near: Duplex, status: string): void {
  near.once('finish', () => near.destroy());
  near.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
