/** Live output of executions on nodes of other admins, asked of their owners over the connections of news. */
import type { Clock } from '../../actors/ports.ts';
import type { TailsElsewhere } from '../../api/feeds/ports.ts';
import { TAIL_LINK_MS_MAX } from './limits.ts';
import type { FromDialler, FromTailed } from './protocol/news.ts';

/** What it needs. */
export interface TailsOfOthersPorts {
  /** Whether this admin tells live output at all. */
  offersTails(admin: string): boolean;
  /** False: there is no open connection to it. */
  say(admin: string, message: FromDialler): boolean;
  readonly clock: Pick<Clock, 'after'>;
}

type Place = Parameters<TailsElsewhere['open']>[1];
type Listener = Parameters<TailsElsewhere['open']>[2];

interface Stream {
  readonly admin: string;
  readonly place: Place;
  readonly listener: Listener;
  readonly lost: () => void;
  /** Null: it was asked for. */
  cancelWait: (() => void) | null;
}

/** None at first. */
export class TailsOfOthers implements TailsElsewhere {
  readonly #ports: TailsOfOthersPorts;
  readonly #streams = new Map<number, Stream>();
  #last = 0;

  constructor(ports: TailsOfOthersPorts) {
    this.#ports = ports;
  }

  open(admin: string, place: Place, listener: Listener, lost: () => void): (() => void) | null {
    if (!this.#ports.offersTails(admin)) return null;
    this.#last += 1;
    const n = this.#last;
    const cancelWait = this.#ports.clock.after(TAIL_LINK_MS_MAX, () => this.#lost(n));
    this.#streams.set(n, { admin, place, listener, lost, cancelWait });
    this.#ask(n);
    return () => this.#close(n);
  }

  /** A connection to this admin is open, on which nothing was asked for yet. */
  reached(admin: string): void {
    for (const [n, stream] of this.#streams) if (stream.admin === admin) this.#ask(n);
  }

  /** Nothing comes from this admin any more. */
  gone(admin: string): void {
    for (const [n, stream] of this.#streams) if (stream.admin === admin) this.#lost(n);
  }

  /** What this admin told, in a message of so many bytes. */
  heard(admin: string, said: FromTailed, bytes: number): void {
    if (said.type === 'tail-output') this.#ports.say(admin, { type: 'tail-read', bytes });
    const stream = this.#streams.get(said.n);
    if (stream?.admin !== admin) return; // it was ended while this was on its way
    if (said.type === 'untailed') return this.#lost(said.n);
    const { offset, text, end } = said;
    if (end) this.#streams.delete(said.n);
    stream.listener({ offset, text, end });
  }

  #ask(n: number): void {
    const stream = this.#streams.get(n);
    if (stream?.cancelWait == null) return;
    if (!this.#ports.say(stream.admin, { type: 'tail', n, ...stream.place })) return;
    stream.cancelWait();
    stream.cancelWait = null;
  }

  #lost(n: number): void {
    const stream = this.#streams.get(n);
    this.#streams.delete(n);
    stream?.cancelWait?.();
    stream?.lost();
  }

  #close(n: number): void {
    const stream = this.#streams.get(n);
    if (stream === undefined) return;
    this.#streams.delete(n);
    if (stream.cancelWait === null) this.#ports.say(stream.admin, { type: 'untail', n });
    else stream.cancelWait();
  }
}
