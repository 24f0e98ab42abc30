/**
 * The channel of one admin, on which the others say what they stored for nodes that it owns. Messages name ids and
 * nothing else: what is to be done stands in the rows. One that is lost costs time, since the sweep finds the same.
 */
import { z } from 'zod';
import { ClusterId, CommandId, ExecutionId, NodeId, Uuid } from '../../transport/protocol/ids.ts';

/** Before the id of an admin, without its dashes: at most 63 characters, as PostgreSQL has it. */
export const OWN_CHANNEL_PREFIX = 'edge_admin_';

/**
 * Commands in one message: PostgreSQL notifies of less than 8,000 bytes, and an id takes 37. Source: PostgreSQL,
 * NOTIFY.
 */
export const WOKEN_COMMANDS_MAX = 190;

/** Executions in one message, each with its node: a pair takes 74 bytes. */
export const WOKEN_ENDS_MAX = 90;

/** Clusters in one message, each with its epoch: a pair takes 58 bytes at most. */
export const OWNED_CLUSTERS_MAX = 100;

/** One of them. As text: its type, then ids, with spaces between. */
export type WakeUp =
  /** Executions of these commands are pending for nodes of this admin, or are to be cancelled there. */
  | { readonly type: 'run' | 'cancel'; readonly commands: readonly CommandId[] }
  /** Nodes of this admin have their turn in these self-update requests. */
  | { readonly type: 'update'; readonly requests: readonly string[] }
  /** This node came into this cluster of this admin. */
  | { readonly type: 'node'; readonly node: NodeId; readonly cluster: ClusterId }
  /** These were handed over to this admin, each under this epoch. */
  | { readonly type: 'owned'; readonly owned: readonly { readonly cluster: ClusterId; readonly epoch: number }[] }
  /** These expired, by a sweep elsewhere. */
  | { readonly type: 'ended'; readonly ended: readonly (readonly [NodeId, ExecutionId])[] };

/** The name of an admin's channel. */
export function ownChannel(adminId: string): string {
  return `${OWN_CHANNEL_PREFIX}${adminId.replaceAll('-', '')}`;
}

const Commands = z.array(CommandId).min(1);
const Requests = z.array(Uuid).min(1);
const Move = z.tuple([NodeId, ClusterId]);
const Grants = z.array(z.tuple([ClusterId, z.coerce.number().int().positive()])).min(1);
const Ends = z.array(z.tuple([NodeId, ExecutionId])).min(1);

/** Reads a notification; null when it is none of these messages: another version's. */
export function readWakeUp(payload: string): WakeUp | null {
  const [type, ...ids] = payload.split(' ');
  if (type === 'run' || type === 'cancel') {
    const { data: commands } = Commands.safeParse(ids);
    return commands === undefined ? null : { type, commands };
  }
  if (type === 'update') {
    const { data: requests } = Requests.safeParse(ids);
    return requests === undefined ? null : { type, requests };
  }
  if (type === 'node') {
    const { data } = Move.safeParse(ids);
    return data === undefined ? null : { type, node: data[0], cluster: data[1] };
  }
  if (type === 'owned') {
    const { data: grants } = Grants.safeParse(ids.map((pair) => pair.split(':')));
    return grants === undefined ? null : { type, owned: grants.map(([cluster, epoch]) => ({ cluster, epoch })) };
  }
  if (type === 'ended') {
    const { data: ended } = Ends.safeParse(ids.map((pair) => pair.split(':')));
    return ended === undefined ? null : { type, ended };
  }
  return null;
}
