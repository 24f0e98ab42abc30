/** How many bytes of a channel are under way: who sends them waits for them to be taken. */
import { WINDOW_BYTES } from './limits.ts';

/** One direction of one channel. */
export class Window {
  #underWay = 0;

  /** Bytes that may be sent now. */
  get room(): number {
    return WINDOW_BYTES - this.#underWay;
  }

  /** So many were sent. False: they are more than there was room for. */
  sent(bytes: number): boolean {
    this.#underWay += bytes;
    return this.#underWay <= WINDOW_BYTES;
  }

  /** So many were taken. False: they are more than were under way. */
  taken(bytes: number): boolean {
    this.#underWay -= bytes;
    return this.#underWay >= 0;
  }
}
