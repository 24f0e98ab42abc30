/** How healthy a node is, and what a change of it writes. Source: contract.md, 4. */
import type { Change, Step } from '../kit/step.ts';
import { step, unchanged } from '../kit/step.ts';
import type { NodeRecord } from '../records.ts';
import type { NodeStatus } from '../resources.ts';
import { nodeSnapshot } from './snapshots.ts';
import type { LiveSession, NodeState } from './state.ts';

/** Healthy: a live session, all services up, reports in time. */
export function statusOf(session: LiveSession): NodeStatus {
  return !session.reportLate && session.report.services.every((service) => service.healthy) ? 'healthy' : 'unhealthy';
}

/** The record of the node, seen now if it has a session: while one lives, only its rows are told how long ago it was heard. */
export function seen({ record, session }: NodeState, nowMs: number): NodeRecord {
  return session === null ? record : { ...record, lastSeenAtMs: nowMs };
}

/** The node in a status, with the change that stores and tells it; no change when it has it already. */
export function inStatus(state: NodeState, status: NodeStatus, nowMs: number): Step<NodeState> {
  if (state.record.status === status) return unchanged(state);
  const record = { ...seen(state, nowMs), status, updatedAtMs: nowMs };
  const change: Change = {
    write: { kind: 'node-status', node: record.id, status, atMs: nowMs },
    events: [{ type: 'edge.node.status_changed', subject: record.id, atMs: nowMs, data: { ...nodeSnapshot(record), previous_status: state.record.status } }],
    notices: [{ type: 'node-changed', node: record.id }, { type: 'events-stored' }],
  };
  return step({ ...state, record }, [change]);
}
