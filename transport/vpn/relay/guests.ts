/** The clients of a relay by their keys. */
import type { Guest } from './guest.ts';
import { CONNECTIONS_OF_KEY_MAX } from './limits.ts';

/** What clients with one key are told. Source: derpserver. */
const DUPLICATE = 'another connection has the same key: packets go to the one that sent last';

interface Slot {
  guests: Guest[];
  /** Where packets for the key go: whoever sent last. */
  active: Guest;
}

/** None is there at first. */
export class Guests {
  readonly #slots = new Map<string, Slot>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Answers how many connections its key has now. What is beyond the limit of a key is ended, the oldest first. */
  enter(guest: Guest): number {
    this.#count += 1;
    const slot = this.#slots.get(guest.id);
    if (slot === undefined) {
      this.#slots.set(guest.id, { guests: [guest], active: guest });
      return 1;
    }
    slot.guests.push(guest);
    slot.active = guest; // most often it is the same client, back before its last connection was found dead
    while (slot.guests.length > CONNECTIONS_OF_KEY_MAX) slot.guests[0]?.end('too many of one key');
    for (const one of slot.guests) one.warn(DUPLICATE);
    return slot.guests.length;
  }

  leave(guest: Guest): void {
    this.#count -= 1;
    const slot = this.#slots.get(guest.id);
    if (slot === undefined) return;
    slot.guests = slot.guests.filter((one) => one !== guest);
    const last = slot.guests.at(-1);
    if (last === undefined) return void this.#slots.delete(guest.id);
    if (slot.active === guest) slot.active = last;
    if (slot.guests.length === 1) last.warn('');
  }

  /** Packets for its key go to this one from now on. */
  sentLast(guest: Guest): void {
    const slot = this.#slots.get(guest.id);
    if (slot !== undefined) slot.active = guest;
  }

  /** Where packets for this key go. */
  activeOf(id: string): Guest | undefined {
    return this.#slots.get(id)?.active;
  }

  ofKey(id: string): readonly Guest[] {
    return this.#slots.get(id)?.guests ?? [];
  }

  /** Those that are ended meanwhile do no harm. */
  *all(): Generator<Guest, void, undefined> {
    for (const slot of this.#slots.values()) yield* slot.guests;
  }
}
