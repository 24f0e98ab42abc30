/**
 * Upgrades of agents that came in here and are passed on to another admin: what the agent sent to make a WebSocket,
 * with the proof of an admin and something sealed beside it, and then the bytes both ways, sealed but over https.
 */
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../net/log.ts';
import { joinClock, Joins, type JoinClock } from '../net/streams/join.ts';
import { RELAY_OPEN_MS_MAX } from './limits.ts';
import { MessageSeals } from './message-seals.ts';
import type { ReceivedHeader } from './peer-header.ts';
import type { PeerKeys } from './peer-key.ts';
import type { PeerProofs } from './peer-proofs.ts';
import type { Peer, Peers } from './peers.ts';
import { PEER_HEADER, RELAY_SEALED_HEADER, RELAYED_HEADER } from './protocol/version.ts';
import { answer, passedOn, switched, UNAUTHORIZED, UNAVAILABLE } from './relayed-heads.ts';
import { SealedStream } from './sealed-stream.ts';

/** What passing on needs. */
export interface CarriedUpgradesPorts {
  readonly keys: PeerKeys;
  readonly proofs: PeerProofs;
  readonly peers: Pick<Peers, 'nameOf' | 'opensRelayed'>;
  /** By the database's clock; its timers are those of this machine. */
  readonly clock: Clock;
  /** Of what is carried; the monotonic one of this process unless given. */
  readonly joinClock?: JoinClock;
  readonly log: Log;
}

/** Of which kind they are, and how many there may be. */
export interface CarriedKind {
  /** As in "a tunnel could not be passed on". */
  readonly name: string;
  /** Where they go at the other admin. */
  readonly path: string;
  readonly openingMax: number;
  readonly carriedMax: number;
}

/** Those of one kind. */
export interface CarriedReadings {
  /** Not answered yet. */
  readonly opening: number;
  readonly carried: number;
  /** Since the start. */
  readonly outcomes: Readonly<Record<string, number>>;
}

/** An upgrade as it came in. */
export interface CarriedUpgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What came behind the request already. */
  readonly head: Buffer;
  /** To be called when the other admin answers with 401. */
  readonly wrong: () => void;
}

/** Of a connection on which an upgrade was passed on, with what came behind that already: the bytes of the agent. */
export type OpenRelayed = (socket: Duplex, head: Buffer) => Duplex;

/**
 * What another admin passed on: what it sealed, and who it is; or the status that this gets. `open`: the answer to the
 * upgrade is to be written there, and its bytes come from there; null: they cross as they are.
 */
export type ReceivedUpgrade =
  | { readonly said: Buffer; readonly admin: string; readonly open: OpenRelayed | null }
  | { readonly refused: string };

/** Nothing is passed on at first. */
export class CarriedUpgrades {
  /** What became of upgrades that were to be passed on, since the start. */
  readonly outcomes = { carried: 0, unauthorized: 0, failed: 0, full: 0 };
  readonly #ports: CarriedUpgradesPorts;
  readonly #kind: CarriedKind;
  readonly #joins: Joins;
  readonly #opening = new Set<ClientRequest>();
  readonly #carriedTo = new Map<Duplex, Peer>();
  #isClosed = false;

  constructor(ports: CarriedUpgradesPorts, kind: CarriedKind) {
    this.#ports = ports;
    this.#kind = kind;
    // its ends say how old it becomes, as where nobody is in between
    this.#joins = new Joins({ lifeMsMax: Infinity, clock: ports.joinClock ?? joinClock });
  }

  /** Those that are not answered yet, and those whose bytes go both ways. */
  get open(): { readonly opening: number; readonly carried: number } {
    return { opening: this.#opening.size, carried: this.#joins.open };
  }

  /** Whether no more are taken now. */
  get isFull(): boolean {
    const { openingMax, carriedMax } = this.#kind;
    return this.#isClosed || this.#opening.size >= openingMax || this.#joins.open + this.#opening.size >= carriedMax;
  }

  /** What another admin passed on with this upgrade; null: it comes from an agent. */
  received(request: IncomingMessage): ReceivedUpgrade | null {
    if (request.headers[PEER_HEADER] === undefined) return null;
    const { proofs, keys } = this.#ports;
    const isSealed = request.headers[RELAY_SEALED_HEADER] !== undefined;
    const proof = proofs.judge(this.#route(isSealed), request);
    if (proof.type === 'misdirected') return MISDIRECTED;
    if (proof.type === 'full') return BUSY;
    const sealed = request.headers[RELAYED_HEADER];
    const said =
      proof.type === 'proven' && typeof sealed === 'string'
        ? keys.openCall(proof.header, Buffer.from(sealed, 'base64url'))
        : null;
    if (proof.type !== 'proven' || said === null) {
      proofs.refused(request);
      return WRONG;
    }
    const { header } = proof;
    const admin = header.said.fromAdmin;
    if (!isSealed) return { said, admin, open: null };
    const { toDialled, toDialler } = keys.connectionKeys(header);
    const seals = new MessageSeals(toDialler, toDialled);
    const broken = (): void => this.#broken(this.#ports.peers.nameOf(admin) ?? admin);
    const open: OpenRelayed = (socket, head) => new SealedStream(socket, { seals, head, answersFirst: true, broken });
    return { said, admin, open };
  }

  /** Passes it on, with what only that admin can read. Where it does not take it, the agent is told to come again. */
  carry(peer: Peer, said: Buffer, upgrade: CarriedUpgrade): void {
    if (this.isFull) {
      this.outcomes.full += 1;
      return answer(upgrade.socket, UNAVAILABLE);
    }
    const { request, socket: near } = upgrade;
    const isSealed = isOverTls(peer) ? false : this.#ports.peers.opensRelayed(peer);
    if (isSealed === null) return this.#failed(peer, near, 'has not said yet whether it opens what is sealed');
    const header = this.#ports.keys.header(this.#route(isSealed), peer.instance, this.#ports.clock.nowMs());
    const asked = this.#asked(peer, header, said, request, isSealed);
    this.#opening.add(asked);
    const cancel = this.#ports.clock.after(RELAY_OPEN_MS_MAX, () => asked.destroy());
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
      if (!settled()) {
        far.destroy();
        return;
      }
      near.write(switched(response));
      const bytes = isSealed ? this.#sealed(peer, header, far, farHead) : plain(far, farHead);
      this.#join(peer, upgrade, bytes);
    });
    asked.end();
  }

  /** Ends those that are carried to admins of which this is true. */
  endThose(isGone: (peer: Peer) => boolean): void {
    for (const [near, peer] of this.#carriedTo) if (isGone(peer)) near.destroy();
  }

  /** Takes no more, and ends what is open, on both sides. */
  close(): void {
    this.#isClosed = true;
    for (const asked of this.#opening) asked.destroy();
    void this.#joins.drain(0);
  }

  /** What the proof of an upgrade is bound to besides its header: nobody in between can say the other thing. */
  #route(isSealed: boolean): string {
    return `GET ${this.#kind.path}${isSealed ? ' sealed' : ''}`;
  }

  #asked(
    peer: Peer,
    header: ReceivedHeader,
    said: Buffer,
    { headers }: IncomingMessage,
    isSealed: boolean,
  ): ClientRequest {
    const url = new URL(peer.url);
    const place = {
      host: url.hostname.replace(/^\[|\]$/gu, ''),
      port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
    };
    const plain = { ...place, allowHalfOpen: true, noDelay: true };
    const dial = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return dial({
      ...place,
      path: `${url.pathname.replace(/\/+$/u, '')}${this.#kind.path}`,
      headers: {
        ...passedOn(headers),
        host: url.host,
        [PEER_HEADER]: header.text,
        [RELAYED_HEADER]: this.#ports.keys.sealCall(header, said).toString('base64url'),
        ...(isSealed && { [RELAY_SEALED_HEADER]: '1' }),
      },
      createConnection: () =>
        url.protocol === 'https:'
          ? connectTls({ ...plain, servername: place.host, ALPNProtocols: ['http/1.1'] })
          : connect(plain),
    });
  }

  #sealed(peer: Peer, header: ReceivedHeader, far: Duplex, head: Buffer): Duplex {
    const { toDialled, toDialler } = this.#ports.keys.connectionKeys(header);
    const seals = new MessageSeals(toDialled, toDialler);
    return new SealedStream(far, { seals, head, answersFirst: false, broken: () => this.#broken(peer.name) });
  }

  #join(peer: Peer, { socket: near, head }: CarriedUpgrade, far: Duplex): void {
    this.outcomes.carried += 1;
    this.#carriedTo.set(near, peer);
    this.#joins.join(near, far, head, () => this.#carriedTo.delete(near));
  }

  #broken(admin: string): void {
    this.#ports.log.warn(
      { admin },
      `the bytes of a ${this.#kind.name} came otherwise than the other admin sealed them`,
    );
  }

  /** It is there, and does not take it. */
  #refused(peer: Peer, { socket, wrong }: CarriedUpgrade, status: number): void {
    if (status !== 401) return this.#failed(peer, socket, `the status ${status}`);
    this.outcomes.unauthorized += 1;
    wrong();
    answer(socket, UNAUTHORIZED);
  }

  #failed({ name }: Peer, near: Duplex, problem: string): void {
    this.#ports.log.debug({ admin: name, problem }, `a ${this.#kind.name} could not be passed on to its admin`);
    this.outcomes.failed += 1;
    answer(near, UNAVAILABLE);
  }
}

const MISDIRECTED: ReceivedUpgrade = { refused: '421 Misdirected Request' };
const BUSY: ReceivedUpgrade = { refused: '503 Service Unavailable' };
const WRONG: ReceivedUpgrade = { refused: '401 Unauthorized' };

/** TLS seals it, and holds the other side to its certificate. */
function isOverTls({ url }: Peer): boolean {
  return new URL(url).protocol === 'https:';
}

/** With what came behind the answer already. */
function plain(far: Duplex, head: Buffer): Duplex {
  if (head.length > 0) far.unshift(head);
  return far;
}
