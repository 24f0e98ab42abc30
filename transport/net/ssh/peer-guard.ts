/**
 * What a side of an SSH connection hears of the other one: what belongs to that side and to that moment. ssh2 takes
 * apart whatever comes, whoever says it and whether or not anybody is logged in: keys in texts of quadratic time,
 * arrays of any length. Of its insides this uses those of exactly the version in package.json.
 */
/* eslint-disable no-underscore-dangle -- these are the names of ssh2's insides */
import type { EventEmitter } from 'node:events';
import { fullBucket, take, type BucketLimits, type TokenBucket } from '../token-bucket.ts';
import { KEY_EXCHANGE_EARNED_BYTES, KEY_EXCHANGES_PER_MINUTE_MAX } from './limits.ts';

/** Who is heard, and how it is bounded. */
export interface PeerGuardOptions {
  /** Which side is heard. */
  readonly peer: 'client' | 'server';
  /** Bytes that the connection has carried so far, both directions together; 0: no key exchange is earned. */
  readonly bytes: () => number;
  /** A new key exchange that is not over by then violates, in ms. */
  readonly keyExchangeMsMax: number;
  /** It is to be cut, for what this sentence to it says. Called once. */
  readonly violated: (problem: string) => void;
  /** It said goodbye: nothing more is to be expected of it. */
  readonly left?: () => void;
}

interface Protocol {
  _onPayload: (payload: Buffer) => unknown;
  readonly _authenticated: boolean;
  /** Ours, from when it was sent until the key exchange is over. */
  readonly _kexinit: Buffer | undefined;
  requestFailure(): void;
}

/** Message numbers. Source: RFC 4250, 4.1.2; RFC 8308, 2.3. */
const [DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG, EXT_INFO] = [1, 2, 3, 4, 7];
const [SERVICE_REQUEST, SERVICE_ACCEPT] = [5, 6];
const KEXINIT = 20;
const [LOGIN_REQUEST, LOGIN_FAILURE, LOGIN_SUCCESS, LOGIN_BANNER, LOGIN_METHOD] = [50, 51, 52, 53, 60];
const GLOBAL_REQUEST = 80;

/** The last number of transport and login. Source: RFC 4250, 4.1.1. */
const LOGIN_LAST = 79;

/** What either side may say at any time. */
const ANY_TIME: ReadonlySet<number> = new Set([DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG, EXT_INFO]);

/**
 * What each may say before the login is over. No method of login is offered here, nor tried, that asks and answers
 * (keyboard-interactive): message 61 belongs to nobody.
 */
const BEFORE_LOGIN: Readonly<Record<PeerGuardOptions['peer'], ReadonlySet<number>>> = {
  client: new Set([SERVICE_REQUEST, LOGIN_REQUEST]),
  server: new Set([SERVICE_ACCEPT, LOGIN_FAILURE, LOGIN_SUCCESS, LOGIN_BANNER, LOGIN_METHOD]),
};

/** By which a server tells its other keys: ssh2 reads each as any text that may be a key. */
const HOST_KEYS = Buffer.from('hostkeys-00@openssh.com');

/** A message that nobody acts on. Source: RFC 4253, 11.2. */
const NOTHING = Buffer.from([IGNORE, 0, 0, 0, 0]);

/** What becomes of a message; a text: it violates, and why. */
type Judgement = 'heard' | 'dropped' | { readonly problem: string };

const KEY_EXCHANGES: BucketLimits = {
  tokensMax: KEY_EXCHANGES_PER_MINUTE_MAX,
  tokensPerSecond: KEY_EXCHANGES_PER_MINUTE_MAX / 60,
};

/** To be called before the first key exchange of this connection of ssh2, a client or one of a server. */
export function guardPeer(side: EventEmitter, options: PeerGuardOptions): void {
  const protocol = protocolOf(side);
  if (protocol !== undefined) new PeerGuard(protocol, options).watch(side);
}

/**
 * Whether a key exchange is under way, in which ssh2 keeps all that is to be sent, and says that it was. The side emits
 * `handshake` when it is over.
 */
export function isExchangingKeys(side: EventEmitter): boolean {
  return protocolOf(side)?._kexinit !== undefined;
}

class PeerGuard {
  readonly #protocol: Protocol;
  readonly #options: PeerGuardOptions;
  #exchanges: TokenBucket = fullBucket(KEY_EXCHANGES);
  #bytesAtExchange = 0;
  #late: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(protocol: Protocol, options: PeerGuardOptions) {
    this.#protocol = protocol;
    this.#options = options;
  }

  watch(side: EventEmitter): void {
    const hear = this.#protocol._onPayload;
    this.#protocol._onPayload = (payload) => {
      const judgement = this.#isOver ? 'dropped' : this.#judge(payload);
      if (typeof judgement === 'object') this.#violated(judgement.problem);
      if (this.#isOver) return Infinity; // ssh2 then leaves the rest of what came with it
      const heard = hear(judgement === 'heard' ? payload : NOTHING);
      if (payload[0] === DISCONNECT) this.#options.left?.();
      return heard;
    };
    const inTime = (): void => clearTimeout(this.#late);
    side.on('handshake', inTime).once('close', inTime);
  }

  #violated(problem: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.violated(problem);
  }

  #judge(payload: Buffer): Judgement {
    const { peer } = this.#options;
    const [type = IGNORE] = payload;
    if (type === KEXINIT) return this.#exchange();
    if (ANY_TIME.has(type)) return 'heard';
    if (!this.#protocol._authenticated) return beforeLogin(peer, type);
    // silently. Source: RFC 4252, 5.1 and 5.3
    if (type >= LOGIN_REQUEST && type <= LOGIN_LAST) return 'dropped';
    if (type === GLOBAL_REQUEST) return this.#request(payload);
    return type > LOGIN_LAST ? 'heard' : unexpected(type);
  }

  #exchange(): Judgement {
    if (!this.#protocol._authenticated) return { problem: 'You asked for new keys before the login' };
    const bytes = this.#options.bytes();
    const isEarned = bytes - this.#bytesAtExchange >= KEY_EXCHANGE_EARNED_BYTES;
    this.#bytesAtExchange = bytes;
    if (!isEarned) {
      const { isTaken, bucket } = take(this.#exchanges, KEY_EXCHANGES, 1, performance.now());
      this.#exchanges = bucket;
      if (!isTaken) return { problem: 'You asked for new keys too often' };
    }
    const late = (): void => this.#violated('You left an exchange of keys unfinished');
    clearTimeout(this.#late);
    this.#late = setTimeout(late, this.#options.keyExchangeMsMax).unref();
    return 'heard';
  }

  /** A server asks nothing that is done here: whether this side lives is all that the answer says. */
  #request(payload: Buffer): Judgement {
    const nameAt = 1 + 4;
    const nameBytes = payload.length < nameAt ? Infinity : payload.readUInt32BE(1);
    const wantsReply = payload[nameAt + nameBytes];
    if (wantsReply === undefined) return unexpected(GLOBAL_REQUEST);
    if (this.#options.peer === 'server') {
      if (wantsReply !== 0) this.#protocol.requestFailure();
      return 'dropped';
    }
    return payload.subarray(nameAt, nameAt + nameBytes).equals(HOST_KEYS) ? unexpected(GLOBAL_REQUEST) : 'heard';
  }
}

/** Some clients (paramiko) ask from the first key exchange on whether the server lives: that costs them no login. */
function beforeLogin(peer: PeerGuardOptions['peer'], type: number): Judgement {
  if (BEFORE_LOGIN[peer].has(type)) return 'heard';
  return peer === 'client' && type === GLOBAL_REQUEST ? 'dropped' : unexpected(type);
}

function unexpected(type: number): Judgement {
  return { problem: `You sent a message that is not for here or not for now (${type})` };
}

function protocolOf(side: EventEmitter): Protocol | undefined {
  return (side as EventEmitter & { readonly _protocol?: Protocol })._protocol;
}
