/** What this admin and the others say to each other through the database: both directions, opened together. */
import type { Addressed } from '../../actors/messages.ts';
import type { Log } from '../../transport/net/log.ts';
import { monotonicMs, systemClock } from '../../transport/net/clock.ts';
import type { Unwind } from '../../transport/net/unwind.ts';
import { hearAdmins, type AdminListenerPorts } from './admin-listener.ts';
import { announcePresence, type PeerPresence } from './peer-presence.ts';
import { hearStoredEvents } from '../publishing/event-notices.ts';
import type { Storage } from '../storage.ts';

/**
 * So long after clusters were handed over to this admin it looks for what others stored for them meanwhile, in ms: who
 * read the owner just before told the one of before.
 */
const STORED_MEANWHILE_MS = 250;

/** What is done with what the others say. */
export interface OpenAdminMessagesPorts extends Pick<AdminListenerPorts, 'tunnels'> {
  /** Nodes that are connected here. */
  readonly sessions: Pick<AdminListenerPorts, 'sendToNode' | 'strays'>;
  readonly directory: { tellLocal(addressed: Addressed): void };
  readonly ownership: { given: AdminListenerPorts['given'] };
  readonly wakeUps: AdminListenerPorts['wakeUps'] & { stop(): Promise<void> };
  /** What all admins commit, for who shows it. */
  readonly news: { publish(changes: readonly [{ readonly type: 'events-stored' }]): void };
  readonly log: Log;
  /** Gets what is to be ended. */
  readonly ends: Pick<Unwind, 'add'>;
}

/** Says from now on that this admin is here, and hears the others. */
export function openAdminMessages(
  storage: Pick<Storage, 'adminId' | 'database' | 'listener' | 'peers'>,
  { sessions, tunnels, directory, ownership, wakeUps, news, log, ends }: OpenAdminMessagesPorts,
): Pick<PeerPresence, 'unheard'> {
  const { adminId, database, peers } = storage;
  const presence = announcePresence(database.pool, adminId, { clock: systemClock, monotonicMs, log });
  ends.add('words to other admins', () => presence.stop());
  const hearing = hearAdmins(storage, {
    clock: systemClock,
    sendToNode: (node, frame) => sessions.sendToNode(node, frame),
    strays: sessions.strays,
    tunnels,
    ended: (id, executions) =>
      directory.tellLocal({ to: { kind: 'node', id }, message: { type: 'executions-expired', executions } }),
    heard: (id) => {
      peers.heard(id);
      presence.heard(id);
    },
    given(owned) {
      ownership.given(owned);
      systemClock.after(STORED_MEANWHILE_MS, () => wakeUps.missed());
    },
    wakeUps,
    log,
  });
  hearStoredEvents(storage, () => news.publish([{ type: 'events-stored' }]));
  ends.add('words of other admins', () => {
    hearing.stop();
    return wakeUps.stop();
  });
  return presence;
}
