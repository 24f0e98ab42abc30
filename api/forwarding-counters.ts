/** Calls between admins, counted by what came of them. */
import { createHistogram, type Histogram, type Observed } from '../transport/net/histogram.ts';
import type { PeerOutcome } from './forwarding-ports.ts';

/** What a call that went out came to, and one that came in. `lost` is one whose answer was. */
export type ForwardOutcome = PeerOutcome['type'] | 'unsent';

/** Upper bounds, in s. The must for a call between two admins beside each other is 1.5 ms more than at the owner. */
const BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** As they are read for metrics. */
export interface ForwardingReadings {
  readonly in: Readonly<Record<string, number>>;
  readonly out: Readonly<Record<string, number>>;
  /** By operation, in s, with every try and wait of it. */
  readonly durations: ReadonlyMap<string, Histogram>;
}

/** Nothing at first. */
export class ForwardingCounters implements ForwardingReadings {
  readonly in: Record<string, number> = { answered: 0, not_owner: 0, unknown_operation: 0 };
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
  readonly durations = new Map<string, Observed>();

  /** A try that this admin made. `unsent`: nothing reached the other one. */
  tried(outcome: PeerOutcome): void {
    this.out[outcome.type === 'lost' && outcome.sure ? 'unsent' : outcome.type] += 1;
  }

  /** A call that another admin made. */
  taken(outcome: PeerOutcome['type']): void {
    this.in[outcome] = (this.in[outcome] ?? 0) + 1;
  }

  /** One that needed another admin is over, after so many ms. */
  ended(operation: string, ms: number): void {
    let durations = this.durations.get(operation);
    if (durations === undefined) {
      durations = createHistogram(BOUNDS_S);
      this.durations.set(operation, durations);
    }
    durations.observe(ms / 1_000);
  }
}
