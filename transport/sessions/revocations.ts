/** What ends when a node is deleted or its credential is revoked (E5). */
import type { Bus } from '../../actors/bus.ts';
import type { SessionLink } from '../../supervisors/ports.ts';
import { CLOSE, IN_DOUBT_REASON } from '../protocol/close-codes.ts';
import type { NodeId } from '../protocol/ids.ts';
import type { Strays } from './strays.ts';

/**
 * Ends whatever is open to such a node, as long as the bus is there. Its actor hangs up by itself, but not where its
 * cluster was given away meanwhile, or it was in doubt whether the change was stored: the agent is asked to come back
 * then, and the gate says whether it may.
 */
export function endRevoked(
  bus: Pick<Bus, 'subscribe'>,
  sessions: Pick<SessionLink, 'hangUpNode'> & { readonly strays: Pick<Strays, 'end'> },
  tunnels: { end(node: NodeId): void },
): void {
  bus.subscribe((notices) => {
    for (const notice of notices) {
      if (notice.type !== 'node-removed' && notice.type !== 'node-revoked') continue;
      if (notice.isInDoubt === true) sessions.hangUpNode(notice.node, CLOSE.shuttingDown, IN_DOUBT_REASON);
      sessions.strays.end(notice.node);
      tunnels.end(notice.node);
    }
  });
}
