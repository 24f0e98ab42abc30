/** Events behind the place of a channel, in order. They are numbered since the channel was taken up. */
import type { EventType } from '../../actors/events.ts';
import { isBehind } from '../../actors/webhook/window.ts';

/** A place in the order of events. */
export interface EventPlace {
  readonly txid: string;
  readonly seq: string;
}

/** An event, as far as deliveries need it. */
export interface AheadEvent extends EventPlace {
  readonly cursor: string;
  readonly id: string;
  readonly type: EventType;
  readonly subject: string;
  /** By the database's clock, Unix ms. */
  readonly storedAtMs: number;
}

/** An event that is kept. */
export interface KeptEvent extends AheadEvent {
  readonly transaction: bigint;
  /** By a monotonic clock. */
  readonly readAtMs: number;
  /** It was there when the channel was taken up: whoever had it before may have stored deliveries of it. */
  readonly isOld: boolean;
}

/** None at first. */
export class KeptEvents {
  #events: KeptEvent[] = [];
  #first = 0;
  readonly #numbers = new Map<string, number>();

  /** Number of the first one that is kept. */
  get first(): number {
    return this.#first;
  }

  /** Number of the next one that is read. */
  get end(): number {
    return this.#first + this.#events.length;
  }

  get size(): number {
    return this.#events.length;
  }

  get last(): KeptEvent | null {
    return this.#events.at(-1) ?? null;
  }

  /** The one with this number, which is kept. */
  at(number: number): KeptEvent {
    return this.#events[number - this.#first] as KeptEvent;
  }

  /** Null: it is not kept. */
  numberOf(cursor: string): number | null {
    return this.#numbers.get(cursor) ?? null;
  }

  add(event: KeptEvent): void {
    this.#numbers.set(event.cursor, this.end);
    this.#events.push(event);
  }

  /** Those up to this place are kept no longer. */
  dropTo(place: EventPlace): void {
    const to = cursorAt(place);
    const kept = this.#events.findIndex(({ cursor }) => isBehind(cursor, to));
    const gone = this.#events.splice(0, kept === -1 ? this.#events.length : kept);
    for (const { cursor } of gone) this.#numbers.delete(cursor);
    this.#first += gone.length;
  }
}

/** The cursor of an event at this place. */
export function cursorAt({ txid, seq }: EventPlace): string {
  return `${txid}-${seq}`;
}
