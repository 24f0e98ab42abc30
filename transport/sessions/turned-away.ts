/** Sockets of a node that begins more sessions than any agent does. */
import type { WebSocket } from 'ws';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../net/log.ts';
import { CLOSE } from '../protocol/close-codes.ts';
import type { NodeId } from '../protocol/ids.ts';
import { CLOSE_GRACE_MS, TOO_MANY_TOLD_MS } from './limits.ts';
import { TOO_MANY, type NodeQuota } from './node-quotas.ts';

/** Nothing of it is read. Told now and then: a line for each would be a flood of its own. */
export function turnAway(
  socket: WebSocket,
  node: NodeId,
  quota: NodeQuota,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): void {
  if (quota.isToBeTold(clock.nowMs(), TOO_MANY_TOLD_MS))
    log.warn({ node, problem: TOO_MANY }, 'a session broke the contract and was cut');
  socket.on('error', () => {}); // whatever it sends
  socket.close(CLOSE.policy, TOO_MANY);
  clock.after(CLOSE_GRACE_MS, () => socket.terminate());
}
