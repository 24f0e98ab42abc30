/** Writes a history down while it happens. */
import type {
  Call,
  CommandReader,
  EventReader,
  Fault,
  Handed,
  History,
  NodeReader,
  OwnerObservation,
  Place,
  Run,
  SessionSpan,
  ShownNode,
  Observation,
  TailReader,
  Visit,
} from './history.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A reader whose events are still coming. */
export interface OpenEventReader extends EventReader {
  readonly events: { readonly id: string; readonly type: string }[];
}

/** A reader of a command that is still told. */
export interface OpenCommandReader extends Mutable<CommandReader> {
  readonly told: { readonly execution: string; readonly status: string }[];
}

/** A reader of all nodes that is still told. */
export interface OpenNodeReader extends NodeReader {
  readonly nodes: Map<string, ShownNode>;
}

/** A reader of an output that is still told. */
export interface OpenTailReader extends Mutable<TailReader> {
  readonly problems: string[];
}

/** One history that grows. Times are ms since it began. */
export class Recorder {
  readonly calls: Call[] = [];
  readonly observations: Observation[] = [];
  readonly sessions: Mutable<SessionSpan>[] = [];
  readonly faults: Fault[] = [];
  readonly eventReaders: OpenEventReader[] = [];
  readonly commandReaders: OpenCommandReader[] = [];
  readonly nodeReaders: OpenNodeReader[] = [];
  readonly tailReaders: OpenTailReader[] = [];
  readonly handed: Handed[] = [];
  readonly runs: Mutable<Run>[] = [];
  readonly visits: Visit[] = [];
  /** By the name of a cluster, as they were seen last. */
  readonly #owned = new Map<string, string>();
  readonly #beganMs = performance.now();
  /** Its beginning, in Unix ms. */
  readonly beganAtMs = performance.timeOrigin + this.#beganMs;

  /** On the clock of this history. */
  nowMs(): number {
    return performance.now() - this.#beganMs;
  }

  /** Who owns what now; a cluster that is missing has no owner. */
  own(seen: readonly { readonly cluster: string; readonly admin: string }[]): void {
    this.#owned.clear();
    for (const { cluster, admin } of seen) this.#owned.set(cluster, admin);
  }

  /** Where an admin stands to a cluster, and whose it is; null: to nothing that has an owner. */
  placeOf(admin: string, cluster: string | null): { readonly place: Place; readonly owner: string | null } {
    if (cluster === null) return { place: 'any', owner: null };
    const owner = this.#owned.get(cluster) ?? null;
    return { place: owner === null ? 'ownerless' : owner === admin ? 'owner' : 'other', owner };
  }

  /** Whether nothing is done to anybody but this one, nor was a moment ago. */
  isCalmBut(one: string): boolean {
    const nowMs = this.nowMs();
    return this.faults.every(({ what, toMs }) => what === one || toMs < nowMs);
  }

  /**
   * Notes what is done to an admin or the database, while it lasts and for so long after. What resolves with a reason
   * had nothing to do, and is taken out again: nothing is excused by it.
   */
  async fault(
    { aftermathMs, ...what }: Omit<Fault, 'fromMs' | 'toMs'> & { readonly aftermathMs: number },
    done: () => Promise<string | null>,
  ): Promise<string | null> {
    const fault = { ...what, fromMs: this.nowMs(), toMs: Infinity };
    this.faults.push(fault);
    const vain = await done();
    fault.toMs = this.nowMs() + aftermathMs;
    if (vain !== null) this.faults.splice(this.faults.indexOf(fault), 1);
    return vain;
  }

  /** All of it. `owners`: from the database, which knows the moment of each change. */
  history(owners: readonly OwnerObservation[] = []): History {
    const { calls, observations, sessions, faults, eventReaders, commandReaders, nodeReaders, tailReaders } = this;
    const { handed, runs, visits } = this;
    return {
      calls,
      observations,
      sessions,
      owners,
      faults,
      eventReaders,
      commandReaders,
      nodeReaders,
      tailReaders,
      handed,
      runs,
      visits,
    };
  }
}
