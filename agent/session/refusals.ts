/**
 * What it means that admins do not know this node (401): which waits follow, and what is said of it. Nothing is given
 * up for it.
 */

/**
 * An admin that does not know this node is asked again after UNKNOWN_AGAIN_MS at most; from then on after
 * UNKNOWN_MS_MAX at most; in ms, and after half of that at least.
 */
export const UNKNOWN_AGAIN_MS = 3_000;
export const UNKNOWN_MS_MAX = 600_000;

/**
 * Rounds in which a URL that no admin names any more may answer again before it is waited for no longer: up to 30 s
 * each, so that an admin behind it can start.
 */
const OTHERS_ROUNDS_MAX = 20;

/** What admins say of this node, while they refuse it. */
export type Refused = 'unknown' | 'deleted';

/** A round through the admins in which one did not know this node. */
export interface RefusedRound {
  /** Ms to wait; null: as after any round without success, since another admin could not be asked. */
  readonly waitMs: number | null;
  /** The first may be a mistake; from the second on it lasts. */
  readonly isLasting: boolean;
  /** To be logged; null: it was said already. */
  readonly sentence: string | null;
}

/** Counts them. One wrong answer changes nothing but a wait. */
export class Refusals {
  #inRound = 0;
  #listedInRound = 0;
  #deletedInRound = 0;
  #rounds = 0;
  #state: Refused | null = null;

  /** Null: nobody refuses it. */
  get state(): Refused | null {
    return this.#state;
  }

  /** An admin answered 401. `isListed`: by a URL that admins named, which a round is through. */
  refused(wasDeleted: boolean, isListed: boolean): void {
    this.#inRound += 1;
    if (isListed) this.#listedInRound += 1;
    if (wasDeleted) {
      this.#deletedInRound += 1;
      this.#state = 'deleted';
    }
    this.#state ??= 'unknown';
  }

  /** An admin welcomed it. */
  welcomed(): void {
    this.#inRound = 0;
    this.#listedInRound = 0;
    this.#deletedInRound = 0;
    this.#rounds = 0;
    this.#state = null;
  }

  /** A round is over, through so many admins and so many that were named; null: none refused. `random` is in [0, 1). */
  round({ admins, listed }: { readonly admins: number; readonly listed: number }, random: number): RefusedRound | null {
    const refusals = this.#inRound;
    const isByAll = this.#listedInRound >= listed;
    const isDeletedNoMore = this.#state === 'deleted' && this.#deletedInRound === 0 && isByAll;
    this.#inRound = 0;
    this.#listedInRound = 0;
    this.#deletedInRound = 0;
    if (refusals === 0) return null;
    if (isDeletedNoMore) {
      this.#state = 'unknown'; // their database is of before it was deleted, and of before it was there
      this.#rounds = 0;
    }
    this.#rounds += 1;
    const isSettled = isByAll && (refusals >= admins || this.#rounds > OTHERS_ROUNDS_MAX);
    const isDeleted = this.#state === 'deleted';
    const isLasting = isDeleted || this.#rounds > 1;
    const longestMs = isLasting ? UNKNOWN_MS_MAX : UNKNOWN_AGAIN_MS;
    return {
      waitMs: isSettled ? Math.ceil(longestMs * (0.5 + random / 2)) : null,
      isLasting,
      sentence: this.#rounds <= 2 ? sentenceOf(isDeleted, isLasting) : null,
    };
  }
}

function sentenceOf(isDeleted: boolean, isLasting: boolean): string {
  if (isDeleted)
    return 'This node was deleted at the admin. What has not started is kept and not started. To make this machine another node stop the agent, run `edge-agent leave`, and start it with a new ENROLLMENT_KEY';
  if (!isLasting) return 'The admin does not know this node; it is asked once more';
  return 'The admin does not know this node: its database is another than before, or another machine was enrolled as it. What has not started is kept and not started until an admin knows it. To make this machine another node stop the agent, run `edge-agent leave`, and start it with a new ENROLLMENT_KEY';
}
