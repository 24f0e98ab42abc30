/**
 * Keeps VPNs as they should be: those of owned clusters as the rows have them, all of them as their manager has them.
 */
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { VpnRows } from '../../actors/vpn/rows.ts';
import type { VpnManager } from '../../actors/vpn/vpn.ts';
import { monotonicMs } from '../../transport/net/clock.ts';
import type { Unwind } from '../../transport/net/unwind.ts';
import type { AdminFrameBody } from '../../transport/protocol/frames.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { Invitations, type InvitationPorts } from './invitations.ts';
import { Reconciler, type ReconcilerPorts } from './reconciler.ts';
import type { VpnWatcher } from './watcher.ts';

/** Is run when the rows tell something of VPNs, and when something may have been missed. */
type Listen = (run: () => void) => { stop(): void };

/** What it needs. */
export interface VpnUpkeepPorts {
  readonly rows: {
    readonly hosts: VpnRows;
    /** What the database grants who reconciles, in ms. */
    readonly leaseMs: number;
    /** Hears what the rows tell of VPNs; `ofMembers`: of their members too. */
    listen(ofMembers: boolean, run: () => void): { stop(): void };
    /** Hears whose members changed; null: any cluster's may have. */
    onMembersChanged(run: (cluster: ClusterId | null) => void): { stop(): void };
  };
  readonly manager: VpnManager;
  /** Keeps the VPNs of owned clusters. */
  readonly watcher: Pick<VpnWatcher, 'changed' | 'start' | 'stop'>;
  /** Looks again at who may use it (E5). */
  readonly relay: { changed(cluster: ClusterId | null): void };
  readonly sessions: { has(node: NodeId): boolean; sendToNode(node: NodeId, frame: AdminFrameBody): boolean };
  readonly clock: Clock;
  /** Runs on while this machine is suspended. */
  readonly leaseClockMs: () => number;
  readonly ownership: { takesTasks(): boolean };
  readonly log: Log;
  /** Gets what is to be ended. */
  readonly ends: Pick<Unwind, 'add'>;
}

/** Starts it. */
export function keepVpns(ports: VpnUpkeepPorts): void {
  const { rows, manager, watcher, relay, sessions, clock, leaseClockMs, ownership, log, ends } = ports;
  ends.add(
    'coordination of VPNs',
    startCoordination({
      manager,
      rows: rows.hosts,
      leaseMs: rows.leaseMs,
      clock,
      monotonicMs,
      leaseClockMs,
      takesTasks: () => ownership.takesTasks(),
      random: Math.random,
      log,
      listen: (run) => rows.listen(manager.kind === 'netmaker', run),
      sessions: { has: (node) => sessions.has(node), send: (node, frame) => sessions.sendToNode(node, frame) },
    }),
  );
  const hearing = rows.onMembersChanged((cluster) => {
    watcher.changed(cluster);
    relay.changed(cluster);
  });
  watcher.start();
  ends.add('networks', () => {
    watcher.stop();
    hearing.stop();
  });
}

/**
 * The reconciler, invitations where machines enter by a client of the manager's, and what wakes them. The result stops
 * it, and gives the right to reconcile back.
 */
function startCoordination(
  ports: ReconcilerPorts & Pick<InvitationPorts, 'sessions'> & { readonly listen: Listen },
): () => Promise<void> {
  const reconciler = new Reconciler(ports);
  const invitations = ports.manager.kind === 'netmaker' ? new Invitations(ports) : null;
  const hearing = ports.listen(() => {
    reconciler.wake();
    invitations?.wake();
  });
  reconciler.start();
  invitations?.start();
  return async () => {
    hearing.stop();
    await Promise.all([reconciler.stop(), invitations?.stop()]);
  };
}
