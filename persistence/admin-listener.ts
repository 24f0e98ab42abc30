/**
 * What the other admins ask for through the database, done here: work that they stored for nodes of this one, tunnels
 * from nodes whose sessions are here, and the end of those to nodes that are revoked.
 */
import type { Log } from '../transport/net/log.ts';
import type { AdminFrameBody } from '../transport/protocol/frames.ts';
import type { WakeUps } from '../supervisors/ports.ts';
import type { ExecutionId, NodeId } from '../transport/protocol/ids.ts';
import type { Database } from './database.ts';
import { deletedNodes, expiredLately, ADMIN_CHANNEL, readAdminMessage, tellAdmins } from './admin-messages.ts';
import type { Listener, Subscription } from './listening.ts';
import { ownChannel, readWakeUp } from './own-channel.ts';

/** What it is done with. */
export interface AdminListenerPorts {
  /** False: the node has no session here. */
  readonly sendToNode: (node: NodeId, frame: AdminFrameBody) => boolean;
  readonly tunnels: { end(node: NodeId): void; refuse(node: NodeId): void; nodes(): readonly NodeId[] };
  /** Another admin is here, or this one. */
  readonly heard: (adminId: string) => void;
  /** A sweep of another admin ended executions of this node, if it is here. */
  readonly ended: (node: NodeId, executions: readonly ExecutionId[]) => void;
  /** What they stored for nodes of this one. */
  readonly wakeUps: WakeUps;
  readonly log: Log;
}

/** Where admins hear each other. */
export interface AdminListenerPlace {
  readonly database: Pick<Database, 'pool'>;
  readonly listener: Pick<Listener, 'hear'>;
  readonly adminId: string;
}

/** Hears them until the result is stopped. */
export function hearAdmins(
  { database, listener, adminId }: AdminListenerPlace,
  { sendToNode, tunnels, heard, ended, wakeUps, log }: AdminListenerPorts,
): Subscription {
  let hasListened = false;
  const own = ownChannel(adminId);
  return listener.hear([ADMIN_CHANNEL, own], (channel, payload) => {
    if (channel === own) wake(payload);
    else hear(payload);
  });

  /** What was stored before this admin took its clusters up it reads with them: only later silence is a gap. */
  function wake(payload: string | null): void {
    if (payload === null) {
      if (hasListened) wakeUps.missed();
      hasListened = true;
      return;
    }
    const message = readWakeUp(payload);
    if (message?.type === 'node') wakeUps.moved(message.node, message.cluster);
    else if (message?.type === 'ended') endExecutions(message.ended);
    else if (message !== null) wakeUps.heard(message.type, message.commands);
  }

  function hear(payload: string | null): void {
    if (payload === null) void catchUp();
    const message = payload === null ? null : readAdminMessage(payload);
    if (message === null) return;
    if (message.type === 'here') heard(message.from);
    if (message.type === 'executions-ended' && message.from !== adminId) endExecutions(message.ended);
    if (message.type === 'node-revoked' && message.from !== adminId) tunnels.end(message.node);
    if (message.type === 'tunnel-refused' && message.to === adminId) tunnels.refuse(message.node);
    if (
      message.type !== 'tunnel-wanted' ||
      message.to !== adminId ||
      sendToNode(message.node, { type: 'open-tunnel', token: message.token, admin_url: message.url })
    )
      return;
    tellAdmins(database.pool, { type: 'tunnel-refused', to: message.from, node: message.node }).catch(
      (error: unknown) => log.debug({ error }, 'another admin waits for a tunnel that will not come'),
    );
  }

  function endExecutions(pairs: readonly (readonly [NodeId, ExecutionId])[]): void {
    for (const [node, ofNode] of Map.groupBy(pairs, ([id]) => id))
      ended(
        node,
        ofNode.map(([, execution]) => execution),
      );
  }

  /**
   * What was said while nobody listened is worth nothing any more, but that a node is gone, and that executions ended.
   */
  async function catchUp(): Promise<void> {
    try {
      endExecutions((await expiredLately(database.pool, adminId)).map(({ node, execution }) => [node, execution]));
      for (const node of await deletedNodes(database.pool, tunnels.nodes())) tunnels.end(node);
    } catch (error) {
      log.warn({ error }, 'what other admins ended meanwhile may still be open or run here');
    }
  }
}
