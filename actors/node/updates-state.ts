/** What a node knows of self-updates that are under way for it. */
import type { SessionId } from '../../transport/protocol/ids.ts';

/** Its turn in a request, as the rows have it. Unix ms by the database's clock. */
export interface DueUpdate {
  readonly request: string;
  /** Version of its agent when it was asked; until then, when its turn came. */
  readonly fromVersion: string;
  readonly dueAtMs: number;
  /** Its agent was asked, by this owner or one before: its updater may have taken the signal. */
  readonly isAsked: boolean;
}

/** One of them here. `asked`: the session on which the agent was asked last; null: on none, as far as is known here. */
export interface AskedUpdate extends DueUpdate {
  readonly asked: SessionId | null;
}

/** What is under way. */
export interface NodeUpdates {
  /** At most one a request, and so OPEN_SELF_UPDATES_MAX. */
  readonly due: readonly AskedUpdate[];
  /**
   * The last request for which its updater took the signal, until it is known what came of it: another version is told
   * of this one alone.
   */
  readonly triggered: { readonly request: string; readonly fromVersion: string } | null;
}

/** Nothing is under way: one object for all nodes. */
export const NO_UPDATES: NodeUpdates = { due: [], triggered: null };
