/** What this admin and the others say to each other through the database: both directions, opened together. */
import type { Bus } from '../actors/bus.ts';
import type { Addressed } from '../actors/messages.ts';
import type { Log } from '../transport/net/log.ts';
import { monotonicMs, systemClock } from '../transport/net/clock.ts';
import type { Unwind } from '../transport/net/unwind.ts';
import type { NodeId } from '../transport/protocol/ids.ts';
import { hearAdmins, type AdminListenerPorts } from './admin-listener.ts';
import { announcePresence, type PeerPresence } from './peer-presence.ts';
import { tellAdmins } from './admin-messages.ts';
import type { Storage } from './storage.ts';

/** What is done with what the others say, and what they are told of. */
export interface OpenAdminMessagesPorts extends Pick<AdminListenerPorts, 'tunnels'> {
  /** Nodes that are connected here. */
  readonly sessions: Pick<AdminListenerPorts, 'sendToNode'>;
  readonly directory: { tellLocal(addressed: Addressed): void };
  readonly bus: Bus;
  readonly log: Log;
  /** Gets what is to be ended. */
  readonly ends: Pick<Unwind, 'add'>;
}

/** Says from now on that this admin is here, hears the others, and tells them of nodes that are revoked here (E5). */
export function openAdminMessages(
  { adminId, database }: Pick<Storage, 'adminId' | 'database'>,
  { sessions, tunnels, directory, bus, log, ends }: OpenAdminMessagesPorts,
): Pick<PeerPresence, 'unheard'> {
  bus.subscribe((notices) => {
    for (const notice of notices)
      if (notice.type === 'node-removed' || notice.type === 'node-revoked') tellRevoked(notice.node);
  });
  const presence = announcePresence(database.pool, adminId, { clock: systemClock, monotonicMs, log });
  ends.add('words to other admins', () => presence.stop());
  const listener = hearAdmins(database, adminId, {
    sendToNode: (node, frame) => sessions.sendToNode(node, frame),
    tunnels,
    ended: (id, executions) =>
      directory.tellLocal({ to: { kind: 'node', id }, message: { type: 'executions-expired', executions } }),
    heard: (id) => presence.heard(id),
    clock: systemClock,
    log,
  });
  ends.add('words of other admins', () => listener.stop());
  return presence;

  function tellRevoked(node: NodeId): void {
    tellAdmins(database.pool, { type: 'node-revoked', from: adminId, node }).catch((error: unknown) =>
      log.warn({ error, node }, 'the other admins were not told that a node was revoked'),
    );
  }
}
