/**
 * How many nodes are of each status, how many came to it lately, and which are not well. Pure. Made once of all nodes,
 * and from then on of what changed.
 */
import type { NodeResource, NodeStatus } from '../../actors/resources/node.ts';
import { STATUSES } from './query.ts';
import type { NodeRows, RowChange } from './rows.ts';

/** Of one status. */
export interface StatusTotal {
  readonly count: number;
  readonly recent: number;
}

/** Kept as nodes change: whoever looks pays for what changed since the last look. */
export class FleetTotals {
  readonly #rows: Pick<NodeRows, 'values' | 'position' | 'changesSince'>;
  readonly #lastMs: number;
  #position = -1;
  #counts = none();
  #recentCounts = none();
  #ill = new Map<string, NodeResource>();
  /** Those that came to their status lately, as they were then. */
  #recent = new Map<string, NodeResource>();
  /**
   * The same in the order in which they came, which is about that of their times, with those that have changed since.
   */
  #ending: NodeResource[] = [];

  /** `lastMs`: what is lately, in ms. */
  constructor(rows: Pick<NodeRows, 'values' | 'position' | 'changesSince'>, lastMs: number) {
    this.#rows = rows;
    this.#lastMs = lastMs;
  }

  /** As it is now. */
  at(nowMs: number): {
    readonly totals: Readonly<Record<NodeStatus, StatusTotal>>;
    readonly ill: ReadonlyMap<string, NodeResource>;
  } {
    // times of the service are UTC in one form, which is read as text: parsing 100,000 takes longer than a frame
    const from = new Date(nowMs - this.#lastMs).toISOString();
    const changes = this.#position < 0 ? null : this.#rows.changesSince(this.#position);
    if (changes === null) this.#renew(from);
    else for (const change of changes) this.#change(change, from);
    this.#position = this.#rows.position;
    this.#end(from);
    const totals = Object.fromEntries(
      STATUSES.map((status) => [status, { count: this.#counts[status], recent: this.#recentCounts[status] }]),
    ) as Record<NodeStatus, StatusTotal>;
    return { totals, ill: this.#ill };
  }

  #renew(from: string): void {
    this.#counts = none();
    this.#recentCounts = none();
    this.#ill = new Map();
    this.#recent = new Map();
    this.#ending = [];
    for (const node of this.#rows.values()) this.#change({ before: undefined, after: node }, from);
    this.#ending.sort((one, other) => (one.status_since < other.status_since ? -1 : 1));
  }

  #change({ before, after }: RowChange, from: string): void {
    if (before !== undefined) {
      this.#counts[before.status] -= 1;
      this.#ill.delete(before.id);
      this.#forget(before.id);
    }
    if (after === undefined) return;
    this.#counts[after.status] += 1;
    if (after.status !== 'healthy') this.#ill.set(after.id, after);
    if (after.status_since <= from) return;
    this.#recent.set(after.id, after);
    this.#recentCounts[after.status] += 1;
    this.#ending.push(after);
  }

  #end(from: string): void {
    const first = this.#ending.findIndex(({ status_since: since }) => since > from);
    for (const node of this.#ending.splice(0, first < 0 ? this.#ending.length : first))
      if (this.#recent.get(node.id) === node) this.#forget(node.id);
    // one that changes again and again leaves many behind
    if (this.#ending.length > 2 * this.#recent.size + ENDING_SPARE)
      this.#ending = this.#ending.filter((node) => this.#recent.get(node.id) === node);
  }

  #forget(id: string): void {
    const node = this.#recent.get(id);
    if (node === undefined) return;
    this.#recent.delete(id);
    this.#recentCounts[node.status] -= 1;
  }
}

/** Entries that may be there for nothing. */
const ENDING_SPARE = 1_000;

function none(): Record<NodeStatus, number> {
  return { healthy: 0, unhealthy: 0, unreachable: 0 };
}
