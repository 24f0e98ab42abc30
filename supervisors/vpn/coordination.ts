/**
 * What keeps VPNs as they should be, put together: the reconciler, invitations where machines enter by a client of
 * the manager's, and what wakes them.
 */
import { createInvitations, type InvitationPorts } from './invitations.ts';
import { createReconciler, type ReconcilerPorts } from './reconciler.ts';

/** What it needs. `listen` hears what the rows tell of VPNs; null: something may have been missed. */
export interface CoordinationPorts extends ReconcilerPorts, Pick<InvitationPorts, 'sessions'> {
  readonly listen: () => {
    onNotice(run: (channel: string, payload: string | null) => void): void;
    stop(): Promise<void>;
  };
}

/** Starts it. The result stops it, and gives the right to reconcile back. */
export function startCoordination(ports: CoordinationPorts): () => Promise<void> {
  const reconciler = createReconciler(ports);
  const invitations = ports.manager.kind === 'netmaker' ? createInvitations(ports) : null;
  const listener = ports.listen();
  listener.onNotice(() => {
    reconciler.wake();
    invitations?.wake();
  });
  reconciler.start();
  invitations?.start();
  return async () => {
    await Promise.all([listener.stop(), reconciler.stop(), invitations?.stop()]);
  };
}
