/** Row changes of self-updates: those of the request, and those that the actor of a node asks for. */
import type { NodeId } from '../../transport/protocol/ids.ts';
import type { UpdateOutcome } from '../../transport/protocol/updates.ts';
import type { SelfUpdateRecord } from './state.ts';

/** What the actor of a node stores, under the epoch of its cluster. */
export type SelfUpdateHotWrite =
  /** Its agent is about to be asked, which has this version: from due. */
  | {
      readonly kind: 'self-update-asked';
      readonly request: string;
      readonly node: NodeId;
      readonly from: string;
      readonly atMs: number;
    }
  /** Its updater took the signal: from due. */
  | {
      readonly kind: 'self-update-triggered';
      readonly request: string;
      readonly node: NodeId;
      readonly atMs: number;
    }
  /** It cannot be triggered: from due. */
  | {
      readonly kind: 'self-update-failed';
      readonly request: string;
      readonly node: NodeId;
      readonly error: string;
      readonly atMs: number;
    }
  /** What came of it: from triggered, and going back also from updated. `from` null: as the row has it. */
  | {
      readonly kind: 'self-update-ended';
      readonly request: string;
      readonly node: NodeId;
      readonly outcome: UpdateOutcome['outcome'];
      readonly from: string | null;
      readonly to: string;
      readonly error: string | null;
      readonly atMs: number;
    };

/** A node of a new request, with the cluster it is in. */
export interface UpdateTarget {
  readonly node: NodeId;
  readonly clusterName: string;
}

/**
 * One step of a request, of at most SELF_UPDATE_STEP_NODES_MAX nodes. `judge`: what time and vanished nodes make of the
 * rows; `due`: the turn of so many more nodes has come; `halt`: no more nodes are told; `begin`: the first was
 * triggered; `complete`: nothing is left to do.
 */
export type SelfUpdateMove =
  | { readonly type: 'judge' | 'begin' | 'halt' | 'complete' }
  | { readonly type: 'due'; readonly nodes: number };

/** What the actor of a request stores. */
export type SelfUpdateColdWrite =
  /** Without a target it is completed at once. */
  | {
      readonly kind: 'self-update-created';
      readonly request: SelfUpdateRecord;
      readonly targets: readonly UpdateTarget[];
    }
  /** Refused when another one moved the request since it was counted under this revision. */
  | {
      readonly kind: 'self-update-moved';
      readonly request: string;
      readonly revision: number;
      readonly move: SelfUpdateMove;
      readonly atMs: number;
    };
