/** Whether the admins have room for all clusters, and the words in which every surface and the log say it. */
import type { ClusterId } from '../transport/protocol/ids.ts';
import type { Refusal } from './refusal.ts';

/** A cluster that no admin has room for. */
export interface Orphan {
  readonly cluster: ClusterId;
  readonly name: string;
  readonly nodes: number;
}

/** How the fleet fits its admins. */
export interface Standing {
  /**
   * `whole`: every cluster fits somewhere. `fragmented`: one fits no admin, though the admins together have room for
   * all nodes. `overfull`: there are more nodes than room.
   */
  readonly kind: 'whole' | 'fragmented' | 'overfull';
  /** The largest first. */
  readonly orphans: readonly Orphan[];
  /** The most nodes that one admin has room for still. */
  readonly roomMax: number;
}

/** Nothing is known to be wrong. */
export const WHOLE: Standing = { kind: 'whole', orphans: [], roomMax: 0 };

/** Whether health, metrics and the group of admins call it degraded. Writes are refused only where it is overfull. */
export function isDegraded({ kind }: Standing): boolean {
  return kind !== 'whole';
}

/** What is wrong, as one sentence without a full stop; null when nothing is. */
export function degradation({ kind, orphans, roomMax }: Standing): string | null {
  if (kind === 'whole') return null;
  if (kind === 'overfull') return 'there are more nodes than the admins have room for';
  const [first, ...others] = orphans;
  const all = others.length === 0 ? '' : `, and so for ${others.length} more`;
  return first === undefined
    ? 'the admins have room for all nodes together, and not for each cluster'
    : `the admins have room for all nodes together, but none for the cluster ${sized(first, roomMax)}${all}`;
}

/** Why nothing is written for such a cluster. Deleting its nodes and moving them is not refused. */
export function orphaned(orphan: Orphan, roomMax: number): Refusal {
  return {
    code: 'service_unavailable',
    message: `No admin has room for the cluster ${sized(orphan, roomMax)}. Add an admin or raise ADMIN_MAX_WIREGUARD_PEERS.`,
  };
}

function sized({ name, nodes }: Orphan, roomMax: number): string {
  return `${name} (${nodes} ${nodes === 1 ? 'node' : 'nodes'}; the largest room is ${roomMax})`;
}
