/** Calls to other admins: sealed, bounded in time and number, and told apart by whether anything was done there. */
import { buildConnector, Pool } from 'undici';
import type { PeerCall, PeerCalls, PeerOutcome } from '../../api/forwarding/ports.ts';
import type { Clock } from '../../actors/ports.ts';
import { refuse } from '../../actors/refusal.ts';
import { CALL_ROUTE, SEALED_TYPE } from './call-entrance.ts';
import type { PeerKeys } from './peer-key.ts';
import type { ReceivedHeader } from './peer-header.ts';
import type { Peer, Peers } from './peers.ts';
import { CallLink, LATE, lost, UNREADABLE } from './call-link.ts';
import { decodeAnswer, encodeCall } from './protocol/call.ts';
import { CALL_PATH, LINK_VERSION_CALLS, PEER_HEADER, REACHED_HEADER } from './protocol/version.ts';
import {
  ANSWER_BYTES_MAX,
  CALL_SLACK_BYTES,
  FORWARDS_OPEN_MAX,
  PEER_CONNECT_MS_MAX,
  PEER_CONNECTIONS_MAX,
} from './limits.ts';

/** What calls need. */
export interface CallsPorts {
  readonly keys: PeerKeys;
  readonly peers: Peers;
  /** By the database's clock; its timers are those of this machine. */
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  /** Default: FORWARDS_OPEN_MAX to one admin. */
  readonly openMax?: number;
}

/** No connection came about, so nothing was sent. */
class NotConnected extends Error {
  override readonly name = 'NotConnected';
}

/** What is open to one process of an admin. */
interface Line {
  readonly peer: Peer;
  readonly pool: Pool;
  /** Path of its URL, without a slash at the end. */
  readonly prefix: string;
  /** Null: it takes requests only. */
  readonly link: CallLink | null;
  open: number;
}

/**
 * No connection is open before the first call. Calls go over one connection where that is open (`call-link.ts`), else
 * as a request each.
 */
export class Calls implements PeerCalls {
  readonly #ports: CallsPorts;
  readonly #lines = new Map<string, Line>();
  #isClosed = false;

  constructor(ports: CallsPorts) {
    this.#ports = ports;
  }

  async call(admin: string, call: PeerCall, signal: AbortSignal): Promise<PeerOutcome> {
    const { peers, openMax = FORWARDS_OPEN_MAX } = this.#ports;
    const peer = peers.callable(admin);
    if (peer === null) return peers.isOfOtherVersion(admin) ? { type: 'other_version' } : NOT_THERE;
    if (this.#isClosed || signal.aborted || call.remaining_ms <= 0) return NOT_ASKED;
    const line = this.#lineTo(peer);
    if (line.open >= openMax) return { type: 'overloaded' };
    line.open += 1;
    try {
      const body = encodeCall(call);
      // What one admin asks another about itself tells whether its address leads there, or is large.
      if (call.target.kind !== 'admin' && line.link?.takes(body.byteLength) === true)
        return await line.link.call(body, call, signal);
      return await this.#asked(line, call, body, signal);
    } finally {
      line.open -= 1;
    }
  }

  /** Calls that are open now. */
  open(): number {
    return [...this.#lines.values()].reduce((sum, line) => sum + line.open, 0);
  }

  /** Whether a connection of calls to it is open. */
  isLinked(admin: string): boolean {
    return this.#lines.get(admin)?.link?.isOpen === true;
  }

  /** Ends connections to processes that are gone, and those that are not used. */
  sweep(): void {
    for (const [admin, line] of this.#lines) {
      if (this.#ports.peers.callable(admin)?.instance !== line.peer.instance) this.#drop(admin, line);
      else line.link?.sweep();
    }
  }

  /** Ends every connection, and the calls on them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const lines = [...this.#lines.values()];
    this.#lines.clear();
    for (const { link } of lines) link?.close();
    await Promise.all(lines.map(({ pool }) => pool.destroy()));
  }

  #lineTo(peer: Peer): Line {
    const known = this.#lines.get(peer.id);
    if (known !== undefined) {
      if (known.peer === peer || isSame(known.peer, peer)) return known;
      this.#drop(peer.id, known);
    }
    const url = new URL(peer.url);
    const link = peer.version >= LINK_VERSION_CALLS ? new CallLink(peer, this.#ports) : null;
    const line = { peer, pool: poolTo(url), prefix: url.pathname.replace(/\/+$/u, ''), link, open: 0 };
    this.#lines.set(peer.id, line);
    return line;
  }

  #drop(admin: string, { pool, link }: Line): void {
    this.#lines.delete(admin);
    link?.close();
    void pool.destroy();
  }

  async #asked({ peer, pool, prefix }: Line, call: PeerCall, body: Buffer, signal: AbortSignal): Promise<PeerOutcome> {
    const { keys, clock } = this.#ports;
    const header = keys.header(CALL_ROUTE, peer.instance, clock.nowMs());
    const over = new AbortController();
    const end = (): void => over.abort();
    const cancel = clock.after(call.remaining_ms, end);
    signal.addEventListener('abort', end, { once: true });
    try {
      const answer = await pool.request({
        method: 'POST',
        path: `${prefix}${CALL_PATH}`,
        headers: { [PEER_HEADER]: header.text, 'content-type': SEALED_TYPE },
        body: keys.sealCall(header, body),
        signal: over.signal,
      });
      const { statusCode, headers } = answer;
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      return statusCode === 200 ? this.#answered(peer, header, bytes) : this.#notAnswered(peer, statusCode, headers);
    } catch (error) {
      if (over.signal.aborted) return LATE;
      return lostBy(error);
    } finally {
      cancel();
      signal.removeEventListener('abort', end);
    }
  }

  #answered(peer: Peer, header: ReceivedHeader, sealed: Buffer): PeerOutcome {
    const bytes = this.#ports.keys.openAnswer(header, sealed);
    if (bytes === null) return UNPROVEN;
    this.#ports.peers.reached(peer);
    return decodeAnswer(bytes) ?? UNREADABLE;
  }

  /** What was said without proof: nothing but that it was not done. */
  #notAnswered(peer: Peer, status: number, headers: Readonly<Record<string, unknown>>): PeerOutcome {
    switch (status) {
      case 404:
        return UNKNOWN_HERE;
      case 413:
        return { type: 'answered', result: TOO_LARGE };
      case 421:
        if (headers[REACHED_HEADER] === peer.id) return RESTARTED;
        this.#ports.peers.misled(peer);
        return MISLED;
      case 503:
        return { type: 'busy' };
      default:
        return lost(false, `answered with the status ${status}`);
    }
  }
}

function isSame(a: Peer, b: Peer): boolean {
  return a.instance === b.instance && a.url === b.url && a.version === b.version;
}

function poolTo(url: URL): Pool {
  const dial = buildConnector({ timeout: PEER_CONNECT_MS_MAX, allowH2: false });
  return new Pool(url.origin, {
    connections: PEER_CONNECTIONS_MAX,
    pipelining: 1,
    headersTimeout: 0, // each call has a deadline of its own
    bodyTimeout: 0,
    maxResponseSize: ANSWER_BYTES_MAX + CALL_SLACK_BYTES,
    connect: (options, connected) =>
      dial(options, (error, socket) => {
        if (error === null) connected(null, socket);
        else connected(new NotConnected(error.message, { cause: error }), null);
      }),
  });
}

function lostBy(error: unknown): PeerOutcome {
  if (error instanceof NotConnected) return lost(true, `does not take connections (${codeOf(error.cause)})`);
  return lost(false, `broke off (${codeOf(error)})`);
}

function codeOf(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  return typeof code === 'string' ? code : String(name);
}

const NOT_THERE = lost(true, 'is not alive, or has not said where it is reached');
const NOT_ASKED = lost(true, 'was not asked any more');
const UNPROVEN = lost(false, 'answered without the proof of an admin');
const UNKNOWN_HERE = lost(true, 'does not take this one for an admin (ENCRYPTION_KEY, clocks, or it has just started)');
const RESTARTED = lost(true, 'was started anew');
const MISLED = lost(true, 'has an address that leads to another admin (ADMIN_PEER_URL)');
const TOO_LARGE = refuse('payload_too_large', 'The body is larger than the admin that owns this takes.');
