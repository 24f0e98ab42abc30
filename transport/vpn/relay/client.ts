/** A client of a relay: one that proved its key and is admitted. */
import { encodeFrame, FRAME, PING_BYTES } from '../derp/protocol.ts';
import type { Outbox } from '../../net/streams/outbox.ts';
import type { Admitted } from './admission.ts';
import type { Introduction } from './introduction.ts';
import { KEEP_ALIVE_JITTER_MS, KEEP_ALIVE_MS, SILENCE_MS_MAX, WRITE_MS_MAX } from './limits.ts';

/** The way to a client. */
export interface ClientLink {
  readonly address: string;
  readonly outbox: Outbox;
  /** When something came by it last, as `performance.now()`. */
  readonly heardAtMs: number;
  end(reason: string): void;
}

/** Who it is, and the way to it. It is kept alive until it has left. */
export class RelayClient {
  /** Its key: binary, as text of one character a byte for look-ups, and as `wg` writes it. */
  readonly key: Buffer;
  readonly id: string;
  readonly publicKey: string;
  readonly address: string;
  readonly outbox: Outbox;
  admitted: Admitted;
  /** When it was asked last whether it is admitted, as `performance.now()`. */
  admittedAtMs = performance.now();
  readonly #link: ClientLink;
  readonly #answersPings: boolean;
  #keepAlive: NodeJS.Timeout;

  constructor(link: ClientLink, { key, answersPings }: Introduction, admitted: Admitted) {
    this.key = key;
    this.id = idOf(key);
    this.publicKey = key.toString('base64');
    this.address = link.address;
    this.outbox = link.outbox;
    this.admitted = admitted;
    this.#link = link;
    this.#answersPings = answersPings;
    this.#keepAlive = this.#keepAliveLater();
  }

  /** Why it should be ended now; null: it is well. */
  fault(nowMs: number): string | null {
    const stuckSinceMs = this.outbox.stuckSinceMs();
    if (stuckSinceMs !== null && nowMs - stuckSinceMs > WRITE_MS_MAX) return 'it does not read';
    return this.#answersPings && nowMs - this.#link.heardAtMs > SILENCE_MS_MAX ? 'it does not answer' : null;
  }

  /** Tells it that something is wrong with its connection; empty: no more. */
  warn(problem: string): void {
    this.outbox.notice(encodeFrame(FRAME.health, Buffer.from(problem)));
  }

  end(reason: string): void {
    this.#link.end(reason);
  }

  /** Its connection is over. */
  left(): void {
    clearTimeout(this.#keepAlive);
  }

  #keepAliveLater(): NodeJS.Timeout {
    return setTimeout(
      () => {
        this.outbox.notice(encodeFrame(FRAME.keepAlive));
        if (this.#answersPings) this.outbox.notice(encodeFrame(FRAME.ping, Buffer.alloc(PING_BYTES)));
        this.#keepAlive = this.#keepAliveLater();
      },
      KEEP_ALIVE_MS + Math.random() * KEEP_ALIVE_JITTER_MS,
    ).unref();
  }
}

/** A binary key as text of one character a byte: the cheapest to make and to look up. */
export function idOf(key: Buffer): string {
  return key.toString('latin1');
}
