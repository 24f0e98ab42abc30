/**
 * One agent's WebSocket on the admin: numbered frames in and out, quotas, and when it was last heard. Decides nothing.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { CloseCode } from '../protocol/close-codes.ts';
import { decodeAgentFrame, encodeFrame } from '../protocol/codec.ts';
import type { AgentSettings } from '../protocol/agent-settings.ts';
import type { AdminFrameBody, AgentFrame } from '../protocol/frames.ts';
import type { ClusterId, ExecutionId, NodeId, SessionId } from '../protocol/ids.ts';
import { SESSION_SILENCE_MS_MAX } from '../protocol/limits.ts';
import { PROTOCOL_VERSION_DOUBTS } from '../protocol/version.ts';
import { BUFFERED_BYTES_MAX, FRAMES_PER_SECOND_MAX, REPORT_LATE_MS } from './limits.ts';
import type { NodeQuota } from './node-quotas.ts';
import { Buffer } from 'node:buffer';

/**
 * What a message from an agent turned out to be. A null frame: it was said before the hello that is waited for, and is
 * said again after it.
 */
export type Received =
  | { readonly ok: true; readonly frame: AgentFrame | null }
  | { readonly ok: false; readonly problem: string };

/** How an agent came in: at which other admin, by its name (null: here), from where, and whether by TLS. */
export interface SessionVia {
  readonly by: string | null;
  readonly address: string;
  readonly isSecure: boolean;
}

/** Why a socket is not read for now: more is not stored yet than memory is for, or this agent is over its share. */
export type Hold = 'unstored' | 'rate';
const HOLD_BITS: Readonly<Record<Hold, number>> = { unstored: 1, rate: 2 };

/** What an agent with a rhythm of its own may miss. Source: transport/protocol/agent-description.ts. */
const PINGS_MISSED = 2;
const REPORTS_MISSED = 3;

/** What a connection is made of. */
export interface ConnectionParts {
  readonly node: NodeId;
  readonly cluster: ClusterId;
  readonly socket: WebSocket;
  readonly quota: NodeQuota;
  /** Null: its agent came here by itself. */
  readonly via: SessionVia | null;
}

/** A class, because there are ten thousand of them: methods are shared. */
export class Connection {
  readonly id: SessionId;
  readonly node: NodeId;
  /** In which its node was when its token was read; from the welcome on, in which it is. */
  cluster: ClusterId;
  readonly socket: WebSocket;
  readonly openedMs: number;
  heardMs: number;
  reportedMs: number;
  /** Set by hello; before it only hello is accepted. */
  greeted = false;
  /** Set by welcome; before it the agent accepts nothing else. */
  welcomed = false;
  /** The version that the agent speaks; known from its hello. */
  protocol = 1;
  /** Silence after which it is taken for dead, and after which its reports are late, in ms. */
  #silenceMsMax = SESSION_SILENCE_MS_MAX;
  #reportLateMs = REPORT_LATE_MS;
  #lateTold = false;
  /** It pings as often as it says itself. */
  #hasOwnRhythm = false;
  /** How often it was told to. */
  #toldPingMs: number | undefined;
  /** Where it was told that relays are. */
  #toldRelays = '';
  #sentSeq = 0;
  #heardSeq = 0;
  readonly #quota: NodeQuota;
  readonly via: SessionVia | null;
  #holds = 0;
  #unstored: Map<ExecutionId, number> | null = null;
  #isRenewed = false;

  constructor(id: SessionId, { node, cluster, socket, quota, via }: ConnectionParts, nowMs: number) {
    this.id = id;
    this.node = node;
    this.cluster = cluster;
    this.socket = socket;
    this.openedMs = nowMs;
    this.heardMs = nowMs;
    this.reportedMs = nowMs;
    this.#quota = quota;
    this.via = via;
  }

  /**
   * A session after this one on the same connection, of a node that moved: numbers and shares go on, the hello comes
   * again.
   */
  renewed(id: SessionId, cluster: ClusterId, nowMs: number): Connection {
    const parts = { node: this.node, cluster, socket: this.socket, quota: this.#quota, via: this.via };
    const next = new Connection(id, parts, nowMs);
    next.protocol = this.protocol;
    next.#isRenewed = true;
    next.#sentSeq = this.#sentSeq;
    next.#heardSeq = this.#heardSeq;
    return next;
  }

  /**
   * Where it comes from, as it was found when it came in, or the admin that passed it on says: that of a reverse proxy
   * where that is not trusted to name another. Null: it is gone.
   */
  get remoteAddress(): string | null {
    const address = this.via?.address ?? this.#stream?.remoteAddress;
    return address === undefined || address === 'unknown' ? null : address;
  }

  /** The admin that passes it on, by its name; null: its agent came here by itself. */
  get relayedBy(): string | null {
    return this.via?.by ?? null;
  }

  /** Its agent said hello. */
  hello({ protocol, registration: { rhythm } }: Extract<AgentFrame, { type: 'hello' }>): void {
    this.greeted = true;
    this.protocol = protocol;
    this.#hasOwnRhythm = rhythm !== undefined;
    this.#silenceMsMax = Math.max(SESSION_SILENCE_MS_MAX, PINGS_MISSED * (rhythm?.ping_ms ?? 0));
    this.#reportLateMs = Math.max(REPORT_LATE_MS, REPORTS_MISSED * (rhythm?.report_ms ?? 0));
  }

  /** Whether its agent was told otherwise: how often it pings, as admins came or went since, or where relays are. */
  isToldOtherwise({ ping_ms: pingMs, derp_map_urls: urls }: AgentSettings): boolean {
    const isPaced = this.#toldPingMs !== pingMs && !this.#hasOwnRhythm && this.protocol >= PROTOCOL_VERSION_DOUBTS;
    return this.welcomed && (isPaced || this.#toldRelays !== urls.join(' '));
  }

  /** Whether it was silent for too long; `listeningMs`: since when this admin has been able to hear. */
  isSilent(nowMs: number, listeningMs: number): boolean {
    return nowMs - Math.max(this.heardMs, listeningMs) > this.#silenceMsMax;
  }

  /** A report came. */
  reported(): void {
    this.reportedMs = this.heardMs;
    this.#lateTold = false;
  }

  /** Whether its reports have just become late. True once until one comes. */
  takeLateness(nowMs: number, listeningMs: number): boolean {
    if (this.#lateTold || nowMs - Math.max(this.reportedMs, listeningMs) <= this.#reportLateMs) return false;
    this.#lateTold = true;
    return true;
  }

  /** Reads one message. Anything that breaks the contract is told, in one line, and ends the session. */
  receive(text: string, nowMs: number): Received {
    this.heardMs = nowMs;
    if (!this.#quota.takeFrame(nowMs))
      return { ok: false, problem: `more than ${FRAMES_PER_SECOND_MAX} frames a second` };
    const decoded = decodeAgentFrame(text);
    if (!decoded.ok) return decoded;
    const { frame } = decoded;
    if (frame.seq !== this.#heardSeq + 1) return { ok: false, problem: `seq ${frame.seq} after ${this.#heardSeq}` };
    this.#heardSeq = frame.seq;
    if (!this.greeted && frame.type !== 'hello' && this.#isRenewed) return { ok: true, frame: null };
    if (!this.greeted && frame.type !== 'hello') return { ok: false, problem: `${frame.type} before hello` };
    if (this.greeted && frame.type === 'hello') return { ok: false, problem: 'a second hello' };
    return { ok: true, frame };
  }

  /** Sends a frame. False when the agent does not read: too much waits. */
  send(body: AdminFrameBody): boolean {
    if (this.socket.bufferedAmount > BUFFERED_BYTES_MAX) return false;
    if (body.type === 'welcome' || body.type === 'settings') {
      this.#toldPingMs = body.settings.ping_ms;
      this.#toldRelays = body.settings.derp_map_urls.join(' ');
    }
    this.#sentSeq += 1;
    this.#write(encodeFrame(body, this.#sentSeq));
    return true;
  }

  close(code: CloseCode, reason: string): void {
    this.socket.close(code, closeReason(reason));
  }

  /** Ends it now: the peer does not answer. */
  terminate(): void {
    this.socket.terminate();
  }

  /** Bytes that the agent did not read yet. */
  get bufferedBytes(): number {
    return this.socket.bufferedAmount;
  }

  /** Whether its socket is not read for now. */
  get isPaused(): boolean {
    return this.#holds !== 0;
  }

  /** Stops reading its socket, until every reason to is gone. */
  pause(reason: Hold): void {
    this.#holds |= HOLD_BITS[reason];
    this.socket.pause();
  }

  resume(reason: Hold): void {
    this.#holds &= ~HOLD_BITS[reason];
    if (this.#holds === 0) this.socket.resume();
  }

  /** Takes bytes from the share of its node. Answers how long it is used up for, in ms. */
  spend(bytes: number, nowMs: number): number {
    return this.#quota.takeBytes(bytes, nowMs);
  }

  /** Notes output that waits to be stored. */
  addUnstored(execution: ExecutionId, bytes: number): void {
    this.#unstored ??= new Map();
    this.#unstored.set(execution, (this.#unstored.get(execution) ?? 0) + bytes);
  }

  /** Forgets it; answers how many bytes it was. */
  takeUnstored(execution: ExecutionId): number {
    const bytes = this.#unstored?.get(execution) ?? 0;
    this.#unstored?.delete(execution);
    return bytes;
  }

  /** All that waits, when the session ends. */
  takeAllUnstored(): number {
    let bytes = 0;
    for (const one of this.#unstored?.values() ?? []) bytes += one;
    this.#unstored = null;
    return bytes;
  }

  /** Past `ws` to its stream, as one buffer: the session uses no compression, so nothing of `ws` waits in between. */
  #write(text: string): void {
    const stream = this.#stream;
    if (this.socket.readyState !== this.socket.OPEN || !stream) return;
    stream.write(textFrame(text));
  }

  get #stream(): Socket | null | undefined {
    // eslint-disable-next-line no-underscore-dangle -- the name is that of ws
    return (this.socket as unknown as { readonly _socket?: Socket | null })._socket;
  }
}

/** A close frame has 125 bytes, two of them the code. Source: RFC 6455, 5.5. */
const CLOSE_REASON_BYTES_MAX = 123;

/**
 * A reason as a close frame takes it: cut to its bound between two characters, since half a character is refused by the
 * peer.
 */
export function closeReason(reason: string): Buffer {
  const bytes = Buffer.from(reason);
  if (bytes.length <= CLOSE_REASON_BYTES_MAX) return bytes;
  let end = CLOSE_REASON_BYTES_MAX;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end);
}

/** A URL as a reason: empty where it does not fit, since one that is cut leads nowhere. */
export function urlReason(url: string): string {
  return Buffer.byteLength(url) <= CLOSE_REASON_BYTES_MAX ? url : '';
}

/** First byte: final fragment, text. Source: RFC 6455, 5.2. */
const FINAL_TEXT = 0x81;
const LENGTH_16_BITS = 126;
const LENGTH_64_BITS = 127;

/**
 * Frames a text as a server does: unmasked, unfragmented, uncompressed. One buffer, since `ws` writes header and
 * payload apart, which costs a gathering system call a frame: a quarter of the admin's time in a fan-out.
 */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const headerBytes = length < LENGTH_16_BITS ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(headerBytes + length);
  frame[0] = FINAL_TEXT;
  if (headerBytes === 2) frame[1] = length;
  else if (headerBytes === 4) {
    frame[1] = LENGTH_16_BITS;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = LENGTH_64_BITS;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, headerBytes);
  return frame;
}
