/** Messages about paths, until the loop of a member takes them. */
import { fullBucket, isFull, take, type TokenBucket } from '../../net/token-bucket.ts';
import { INBOX_MAX, PEER_MESSAGES } from './limits.ts';
import type { PathMessage } from './path-state.ts';

/** A message about the path to one peer. */
export interface PeerPathMessage {
  readonly publicKey: string;
  readonly message: PathMessage;
}

/** Empty at first. */
export class Inbox {
  #messages: PeerPathMessage[] = [];
  /** Of those who said something lately. */
  readonly #buckets = new Map<string, TokenBucket>();

  /**
   * What a peer itself says. False: it is left out, as it says too much (PEER_MESSAGES), or as too many wait. `nowMs`
   * is monotonic.
   */
  hear(publicKey: string, message: PathMessage, nowMs: number): boolean {
    const bucket = this.#buckets.get(publicKey) ?? fullBucket(PEER_MESSAGES);
    const taking = take(bucket, PEER_MESSAGES, 1, nowMs);
    this.#buckets.set(publicKey, taking.bucket);
    return taking.isTaken && this.put(publicKey, message);
  }

  /** What others say of the path to a peer. False: it is left out, as too many wait (INBOX_MAX). */
  put(publicKey: string, message: PathMessage): boolean {
    if (this.#messages.length >= INBOX_MAX) return false;
    this.#messages.push({ publicKey, message });
    return true;
  }

  /** Those that came since the last call, in order. */
  taken(): readonly PeerPathMessage[] {
    return this.#messages.splice(0);
  }

  /** Forgets who was silent for long enough to say as much as anybody. */
  sweep(nowMs: number): void {
    for (const [publicKey, bucket] of this.#buckets)
      if (isFull(bucket, PEER_MESSAGES, nowMs)) this.#buckets.delete(publicKey);
  }
}
