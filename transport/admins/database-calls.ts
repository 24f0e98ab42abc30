/**
 * Calls by way of the database, for where two admins reach it and not each other. What is said is sealed as on the
 * link, and the database passes it on without keeping it: whoever does not hear it at once does not hear it.
 */
import type { PeerCall, PeerOutcome } from '../../api/forwarding/ports.ts';
import type { Clock } from '../../actors/ports.ts';
import { Places } from '../net/places.ts';
import { piecesOf, Pieces } from './admin-pieces.ts';
import {
  DATABASE_CALLS_OPEN_MAX,
  DATABASE_MESSAGE_BYTES_MAX,
  DATABASE_PROBE_GOOD_MS,
  DATABASE_PROBE_MS_MAX,
} from './limits.ts';
import { readHeader, type ReceivedHeader } from './peer-header.ts';
import type { PeerKeys } from './peer-key.ts';
import type { PeerProofs } from './peer-proofs.ts';
import type { Peer, Peers } from './peers.ts';
import { pingOf } from './probes.ts';
import { BUSY, type TakenCalls } from './taken-calls.ts';
import { decodeAnswer, encodeAnswer, encodeCall } from './protocol/call.ts';

/** What the proof of such a call is bound to besides its header. */
const DATABASE_ROUTE = 'NOTIFY call';

/** Carries short texts from admin to admin, to those that hear them at this moment. */
export interface AdminTexts {
  /** Rejects with DatabaseUnavailable. */
  tell(admin: string, texts: readonly string[]): Promise<void>;
  /** Hears what others tell this one. */
  hear(run: (text: string) => void): void;
}

/** What such calls need. */
export interface DatabaseCallsPorts {
  readonly texts: AdminTexts;
  readonly keys: PeerKeys;
  readonly proofs: PeerProofs;
  readonly peers: Pick<Peers, 'callable'>;
  /** By the database's clock; its timers are those of this machine. */
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly newId: () => string;
}

/** When a process answered a probe last, or did not. */
interface Probed {
  readonly isHeard: boolean;
  readonly atMs: number;
}

/** Nobody is called, and nobody comes in before `admit`. */
export class DatabaseCalls {
  readonly #ports: DatabaseCallsPorts;
  readonly #pieces: Pieces;
  readonly #waiting = new Map<string, (sealed: Buffer) => void>();
  readonly #openTo = new Places({ ofOneMax: DATABASE_CALLS_OPEN_MAX });
  /** By process, and those under way: whoever wants to know meanwhile waits for the same one. */
  readonly #probed = new Map<string, Probed>();
  readonly #probes = new Map<string, Promise<boolean>>();
  #taken: TakenCalls | null = null;

  constructor(ports: DatabaseCallsPorts) {
    this.#ports = ports;
    this.#pieces = new Pieces(ports.monotonicMs);
    ports.texts.hear((text) => void this.#heard(text));
  }

  /** Others may call this one. */
  admit(taken: TakenCalls): void {
    this.#taken = taken;
  }

  /** Forgets processes that are gone. */
  sweep(): void {
    for (const [instance, { atMs }] of this.#probed)
      if (this.#ports.monotonicMs() - atMs > DATABASE_PROBE_GOOD_MS) this.#probed.delete(instance);
  }

  /**
   * Never rejects. An admin that does not hear is not asked: whether it does is asked first, so that nobody is in doubt
   * about what a dead one did.
   */
  async call(peer: Peer, call: PeerCall, signal: AbortSignal): Promise<PeerOutcome> {
    if (call.remaining_ms <= 0) return UNHEARD;
    const beganMs = this.#ports.monotonicMs();
    if (!(await this.#isHeardBy(peer, call.remaining_ms, signal))) return UNHEARD;
    const remainingMs = call.remaining_ms - (this.#ports.monotonicMs() - beganMs);
    if (signal.aborted || remainingMs <= 0) return UNHEARD;
    return this.#asked(peer, { ...call, remaining_ms: remainingMs }, signal);
  }

  /** False also where that is not found out in time. */
  async #isHeardBy(peer: Peer, msMax: number, signal: AbortSignal): Promise<boolean> {
    const { clock, monotonicMs } = this.#ports;
    const known = this.#probed.get(peer.instance);
    if (known !== undefined && monotonicMs() - known.atMs < DATABASE_PROBE_GOOD_MS) return known.isHeard;
    const { promise: over, resolve } = Promise.withResolvers<boolean>();
    const end = (): void => resolve(false);
    const cancel = clock.after(msMax, end);
    signal.addEventListener('abort', end, { once: true });
    try {
      return await Promise.race([this.#probes.get(peer.instance) ?? this.#probe(peer), over]);
    } finally {
      cancel();
      signal.removeEventListener('abort', end);
    }
  }

  #probe(peer: Peer): Promise<boolean> {
    const probe = this.#probedAt(peer).finally(() => this.#probes.delete(peer.instance));
    this.#probes.set(peer.instance, probe);
    return probe;
  }

  /** One that could not be told of says nothing of the other. */
  async #probedAt(peer: Peer): Promise<boolean> {
    const { monotonicMs, newId } = this.#ports;
    const outcome = await this.#sent(peer, { ...pingOf(newId(), peer), remaining_ms: DATABASE_PROBE_MS_MAX });
    const isHeard = outcome.type === 'answered';
    if (outcome !== UNTOLD) this.#probed.set(peer.instance, { isHeard, atMs: monotonicMs() });
    return isHeard;
  }

  async #asked(peer: Peer, call: PeerCall, signal: AbortSignal): Promise<PeerOutcome> {
    const leave = this.#openTo.take(peer.id);
    if (leave === null) return TOO_MANY;
    try {
      return await this.#sent(peer, call, signal);
    } finally {
      leave();
    }
  }

  async #sent(peer: Peer, call: PeerCall, signal?: AbortSignal): Promise<PeerOutcome> {
    const { keys, clock, texts } = this.#ports;
    const header = keys.header(DATABASE_ROUTE, peer.instance, clock.nowMs());
    const body = keys.sealCall(header, encodeCall(call));
    if (body.byteLength > DATABASE_MESSAGE_BYTES_MAX) return TOO_LARGE;
    const { nonce } = header.said;
    const answer = Promise.withResolvers<Buffer | null>();
    let isOver = false;
    const end = (): void => {
      isOver = true;
      answer.resolve(null);
    };
    const cancel = clock.after(call.remaining_ms, end);
    signal?.addEventListener('abort', end, { once: true });
    this.#waiting.set(nonce, answer.resolve);
    try {
      await texts.tell(peer.id, piecesOf({ type: 'call', nonce, header: header.text, body }));
      if (isOver) return UNTOLD; // it had no time to answer
      const sealed = await answer.promise;
      if (sealed === null) return LATE;
      const bytes = keys.openAnswer(header, sealed);
      return (bytes === null ? null : decodeAnswer(bytes)) ?? UNREADABLE;
    } catch {
      return UNTOLD; // the database is away, or the connection to it was lost
    } finally {
      cancel();
      signal?.removeEventListener('abort', end);
      this.#waiting.delete(nonce);
    }
  }

  async #heard(text: string): Promise<void> {
    const message = this.#pieces.add(text);
    if (message === null) return;
    const { type, nonce, body } = message;
    if (type === 'answer') return this.#waiting.get(nonce)?.(body);
    const header = readHeader(message.header);
    const proof = header === null ? null : this.#ports.proofs.judged(DATABASE_ROUTE, header);
    if (proof === null || (proof.type !== 'proven' && proof.type !== 'full')) return undefined; // nobody's, or not for this process
    const { header: proven } = proof;
    const taken = this.#taken;
    const opened = this.#ports.keys.openCall(proven, body);
    if (taken === null || opened === null) return undefined;
    const end = proof.type === 'full' ? null : taken.begin(proven.said.fromInstance);
    if (end === null) return this.#answer(proven, BUSY);
    try {
      return await this.#answer(proven, await taken.answered(proven.said, opened, true));
    } finally {
      end();
    }
  }

  async #answer(header: ReceivedHeader, answer: Buffer): Promise<void> {
    const { keys, texts } = this.#ports;
    const isTooLarge = answer.byteLength > DATABASE_MESSAGE_BYTES_MAX - SEAL_BYTES_MAX;
    const body = keys.sealAnswer(header, isTooLarge ? IN_DOUBT : answer);
    const { nonce, fromAdmin } = header.said;
    await texts.tell(fromAdmin, piecesOf({ type: 'answer', nonce, header: '', body })).catch(() => undefined); // it waits for its time
  }
}

/** What a seal adds to what it seals, at most, in bytes. */
const SEAL_BYTES_MAX = 64;

/** An answer that does not fit: it was done, and what came of it is known by the rows alone. */
const IN_DOUBT = encodeAnswer({ type: 'in_doubt' });

function lost(sure: boolean, why: string): PeerOutcome {
  return { type: 'lost', sure, why };
}

const UNHEARD = lost(true, 'does not hear this one by way of the database either');
const TOO_LARGE = lost(true, 'is reached by way of the database alone, which this is too large for');
const TOO_MANY = lost(true, 'is reached by way of the database alone, where too many calls wait');
const LATE = lost(false, 'did not answer in time by way of the database');
const UNTOLD = lost(false, 'could not be told by way of the database');
const UNREADABLE = lost(false, 'answered what is not known here');
