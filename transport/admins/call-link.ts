/**
 * The connection over which one other admin is called: one message each way, where a request of its own would need
 * headers, a proof and keys for each. While it is not open, calls go as requests (`calls.ts`).
 */
import type { PeerCall, PeerOutcome } from '../../api/forwarding/ports.ts';
import type { Clock } from '../../actors/ports.ts';
import {
  ANSWER_BYTES_MAX,
  CALL_SLACK_BYTES,
  LINK_CALL_BYTES_MAX,
  LINK_CALLS_MAX,
  LINK_REDIAL_MS,
  LINK_REDIAL_MS_MAX,
  LINK_UNSENT_BYTES_MAX,
  LINK_UNUSED_MS_MAX,
} from './limits.ts';
import type { PeerKeys } from './peer-key.ts';
import type { Peer, Peers } from './peers.ts';
import { decodeAnswer } from './protocol/call.ts';
import { decodeNumbered, encodeNumbered, LINK_WORDS } from './protocol/call-link.ts';
import { CALLS_PATH } from './protocol/version.ts';
import { dialSealed } from './sealed-connections.ts';
import { SealedSocket } from './sealed-socket.ts';

/** What it needs. */
export interface CallLinkPorts {
  readonly keys: PeerKeys;
  readonly peers: Pick<Peers, 'misled' | 'reached'>;
  /** By the database's clock; its timers are those of this machine. */
  readonly clock: Clock;
  readonly monotonicMs: () => number;
}

/** To one process of an admin. It is dialled when it is first wanted, and anew when it is wanted after a loss. */
export class CallLink {
  readonly #peer: Peer;
  readonly #ports: CallLinkPorts;
  /** Those that were sent and not answered yet. */
  readonly #waiting = new Map<number, (outcome: PeerOutcome) => void>();
  #n = 0;
  /** Null: it is not open. */
  #socket: SealedSocket | null = null;
  /** Null: it is not being dialled. */
  #giveUp: (() => void) | null = null;
  #notBeforeMs = -Infinity;
  #waitMs = LINK_REDIAL_MS;
  #usedAtMs = 0;
  /** The other side ends: nothing more is sent over this one. */
  #isLeaving = false;
  #isClosed = false;

  constructor(peer: Peer, ports: CallLinkPorts) {
    this.#peer = peer;
    this.#ports = ports;
  }

  /** Whether it is connected now. */
  get isOpen(): boolean {
    return this.#socket !== null;
  }

  /** Sees to it that it is open soon, and says whether a call of so many bytes can go over it now. */
  takes(bytes: number): boolean {
    this.#usedAtMs = this.#ports.monotonicMs();
    if (this.#socket === null) this.#dial();
    return (
      this.#socket !== null &&
      !this.#isLeaving &&
      bytes <= LINK_CALL_BYTES_MAX &&
      this.#waiting.size < LINK_CALLS_MAX &&
      this.#socket.unsentBytes <= LINK_UNSENT_BYTES_MAX
    );
  }

  /** Only where it takes it. `body`: the call as it is written. */
  call(body: Buffer, { remaining_ms }: PeerCall, signal: AbortSignal): Promise<PeerOutcome> {
    return new Promise((resolve) => {
      this.#n += 1;
      const n = this.#n;
      const end = (outcome: PeerOutcome): void => {
        if (!this.#waiting.delete(n)) return;
        cancel();
        signal.removeEventListener('abort', late);
        resolve(outcome);
        this.#closeIfLeft();
      };
      const late = (): void => end(LATE);
      const cancel = this.#ports.clock.after(remaining_ms, late);
      signal.addEventListener('abort', late, { once: true });
      this.#waiting.set(n, end);
      this.#socket?.send(encodeNumbered(n, body));
    });
  }

  /** Ends a connection that nobody has used for a while. */
  sweep(): void {
    const idleMs = this.#ports.monotonicMs() - this.#usedAtMs;
    if (this.#waiting.size === 0 && idleMs >= LINK_UNUSED_MS_MAX) this.#socket?.close('was not used');
  }

  /** Ends it, and what waits for an answer. */
  close(): void {
    this.#isClosed = true;
    this.#giveUp?.();
    this.#socket?.close('was ended here');
  }

  #dial(): void {
    const { keys, peers, clock, monotonicMs } = this.#ports;
    if (this.#isClosed || this.#giveUp !== null || monotonicMs() < this.#notBeforeMs) return;
    const dialled = { peer: this.#peer, path: CALLS_PATH, messageBytesMax: ANSWER_BYTES_MAX + CALL_SLACK_BYTES };
    this.#giveUp = dialSealed(
      dialled,
      { keys, peers, nowMs: clock.nowMs() },
      {
        opened: (socket, seals) => {
          this.#giveUp = null;
          if (this.#isClosed) return socket.terminate();
          this.#isLeaving = false;
          this.#socket = new SealedSocket(
            socket,
            { seals, clock, monotonicMs },
            {
              heard: (message) => this.#heard(message),
              tick: () => this.#socket?.send(LINK_WORDS.ping),
              closed: (why) => this.#lost(why),
            },
          );
        },
        failed: () => {
          this.#giveUp = null;
          this.#later();
        },
      },
    );
  }

  #heard(message: Buffer): void {
    const said = decodeNumbered(message);
    if (said === null) return;
    this.#waitMs = LINK_REDIAL_MS; // it proved who it is
    if (said.n === 0) {
      if (!message.equals(LINK_WORDS.leaving)) return;
      this.#isLeaving = true;
      return this.#closeIfLeft();
    }
    const end = this.#waiting.get(said.n);
    if (end === undefined) return; // nobody waits for it any more
    this.#ports.peers.reached(this.#peer);
    end(decodeAnswer(said.body) ?? UNREADABLE);
  }

  #closeIfLeft(): void {
    if (this.#isLeaving && this.#waiting.size === 0) this.#socket?.close('was left');
  }

  #lost(why: string): void {
    this.#socket = null;
    this.#later();
    for (const end of this.#waiting.values()) end(lost(false, `broke off (its connection ${why})`));
  }

  #later(): void {
    this.#notBeforeMs = this.#ports.monotonicMs() + this.#waitMs;
    this.#waitMs = Math.min(LINK_REDIAL_MS_MAX, 2 * this.#waitMs);
  }
}

/** No answer, and whether it is sure that nothing was done. `why` completes "the admin …". */
export function lost(sure: boolean, why: string): PeerOutcome {
  return { type: 'lost', sure, why };
}

/** Its time was over, or whoever asked ended it. */
export const LATE = lost(false, 'did not answer in time');
/** Proven, and of no form that is known here. */
export const UNREADABLE = lost(false, 'answered what is not known here');
