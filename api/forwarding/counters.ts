/** Calls between admins, counted by what came of them. */
import { ObservedHistogram, type Histogram } from '../../transport/net/histogram.ts';
import type { PeerOutcome } from './ports.ts';

/** What a call that went out came to, and one that came in. `lost` is one whose answer was. */
export type ForwardOutcome = PeerOutcome['type'] | 'unsent';

/** Upper bounds, in s. The must for a call between two admins beside each other is 1.5 ms more than at the owner. */
const BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** As metrics read them: who counts is nothing to them, so they see no method that does. */
export interface ForwardingReadings {
  readonly in: Readonly<Record<string, number>>;
  readonly out: Readonly<Record<string, number>>;
  /** Of operations that other admins were asked for, in s, with every try and wait of it. */
  readonly durations: readonly OperationTimes[];
  /** Of operations that were done here for other admins, in s. */
  readonly takenDurations: readonly OperationTimes[];
}

/** How long one operation took that came to one outcome: `ok`, or the code of its refusal. */
export interface OperationTimes {
  readonly operation: string;
  readonly outcome: string;
  readonly durations: Histogram;
}

/** Nothing at first. */
export class ForwardingCounters implements ForwardingReadings {
  readonly in: Record<string, number> = { answered: 0, not_owner: 0, busy: 0, unknown_operation: 0 };
  readonly out: Record<ForwardOutcome, number> = {
    answered: 0,
    not_owner: 0,
    busy: 0,
    unknown_operation: 0,
    in_doubt: 0,
    lost: 0,
    unsent: 0,
    overloaded: 0,
    other_version: 0,
  };
  readonly #out = new Times();
  readonly #in = new Times();

  get durations(): readonly OperationTimes[] {
    return this.#out.all();
  }

  get takenDurations(): readonly OperationTimes[] {
    return this.#in.all();
  }

  /** A try that this admin made. `unsent`: nothing reached the other one. */
  tried(outcome: PeerOutcome): void {
    this.out[outcome.type === 'lost' && outcome.sure ? 'unsent' : outcome.type] += 1;
  }

  /** A call that another admin made, after so many ms. `outcome` of what was answered: `ok`, or a code. */
  taken(type: PeerOutcome['type'], operation: string, outcome: string, ms: number): void {
    this.in[type] = (this.in[type] ?? 0) + 1;
    if (type === 'answered') this.#in.observe(operation, outcome, ms);
  }

  /** One that needed another admin is over, after so many ms. */
  ended(operation: string, outcome: string, ms: number): void {
    this.#out.observe(operation, outcome, ms);
  }
}

/** Times by operation and outcome: as many as there are of both, and both are closed lists. */
class Times {
  readonly #of = new Map<string, OperationTimes & { readonly durations: ObservedHistogram }>();

  all(): readonly OperationTimes[] {
    return [...this.#of.values()];
  }

  observe(operation: string, outcome: string, ms: number): void {
    const key = `${operation} ${outcome}`;
    let times = this.#of.get(key);
    if (times === undefined) {
      times = { operation, outcome, durations: new ObservedHistogram(BOUNDS_S) };
      this.#of.set(key, times);
    }
    times.durations.observe(ms / 1_000);
  }
}
