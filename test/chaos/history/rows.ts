/** What is stored when all is over. */
import type { Row } from '../invariants.ts';
import type { Named, Shown, ShownNode } from './history.ts';

/** A cluster with its counts. */
export interface ClusterRow {
  readonly name: string;
  readonly nodeCount: number;
  readonly nodeLimit: number | null;
}

/** Everything that is looked at. */
export interface Rows {
  readonly clusters: readonly ClusterRow[];
  readonly nodes: ReadonlyMap<string, ShownNode>;
  /** What has a name, as a list would show it. */
  readonly named: readonly (Named & Shown)[];
  readonly executions: readonly Row[];
  /** In the order of their commit. */
  readonly events: readonly { readonly id: string; readonly subject: string; readonly type: string }[];
}

/** An empty database. */
export const NO_ROWS: Rows = { clusters: [], nodes: new Map(), named: [], executions: [], events: [] };
