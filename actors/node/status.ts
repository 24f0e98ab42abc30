/** How healthy a node is, when that is told, and what a change of it writes. Source: docs/health.md. */
import { REPORT_INTERVAL_MS } from '../../transport/protocol/limits.ts';
import type { DomainEvent } from '../event-catalogue.ts';
import type { Effect, Step } from '../step.ts';
import { step, unchanged } from '../step.ts';
import type { NodeRecord, Standing } from '../records.ts';
import { instant } from '../resources/instant.ts';
import { NODE_STATUSES, type NodeStatus } from '../resources/node.ts';
import { betterDueMs, changesWith } from './damping.ts';
import { nodeSnapshot } from './snapshots.ts';
import type { LiveSession, NodeState } from './state.ts';
import { evidenceOf, reasonOf } from './status-reason.ts';

/** Healthy: a live session, all services up, reports in time. */
export function statusOf(session: Pick<LiveSession, 'report' | 'reportLate'>): NodeStatus {
  return !session.reportLate && session.report.services.every((service) => service.healthy) ? 'healthy' : 'unhealthy';
}

/** The session with what was just heard of it, or not heard. It is well since it was, or since now. */
export function judged(session: LiveSession, nowMs: number): LiveSession {
  return { ...session, wellSinceMs: statusOf(session) === 'healthy' ? (session.wellSinceMs ?? nowMs) : null };
}

/**
 * The record of the node, seen now if it has a session: while one lives, only its rows are told how long ago it was
 * heard.
 */
export function seen({ record, session }: NodeState, nowMs: number): NodeRecord {
  return session === null ? record : { ...record, lastSeenAtMs: nowMs };
}

/**
 * The node as its live session shows it: worse at once, better when it has lasted (`dampingMs`), and the same with its
 * reason kept up to date. Unchanged without a session: then silence decides.
 */
export function shown(state: NodeState, dampingMs: number, nowMs: number): Step<NodeState> {
  const { session, record } = state;
  if (session === null) return unchanged(state);
  const now = statusOf(session);
  if (!isBetter(now, record.status))
    return now === record.status ? explained(state, nowMs) : inStatus(state, now, nowMs);
  const steps = betterSteps(session, record.status).map((better) => ({
    ...better,
    dueMs: betterDueMs(record.standing.changesMs, better.sinceMs, dampingMs, nowMs),
  }));
  const due = steps.find(({ dueMs }) => dueMs <= nowMs);
  const told = due === undefined ? explained(state, nowMs) : inStatus(state, due.status, nowMs);
  return step(told.state, told.changes, dampingRecoveryEffects(told.state, dampingMs, nowMs));
}

/** The reminder of a better status that is not told yet, for now and after a restart of the actor. */
export function dampingRecoveryEffects(
  { session, record }: NodeState,
  dampingMs: number,
  nowMs: number,
): readonly Effect[] {
  if (session === null) return [];
  const dues = betterSteps(session, record.status).map(({ sinceMs }) =>
    betterDueMs(record.standing.changesMs, sinceMs, dampingMs, nowMs),
  );
  return dues.length === 0
    ? []
    : [
        {
          type: 'remind',
          key: 'damping',
          afterMs: Math.max(0, Math.min(...dues) - nowMs),
          message: { type: 'status-lasted' },
        },
      ];
}

/** The node out of reach, for nothing was heard for long enough. */
export function unreachable(state: NodeState, nowMs: number): Step<NodeState> {
  return state.record.status === 'unreachable' ? unchanged(state) : inStatus(state, 'unreachable', nowMs);
}

/** The node out of reach, for no admin has owned its cluster since: whoever could hear it would have to. */
export function ownerless(state: NodeState, sinceMs: number, nowMs: number): Step<NodeState> {
  const reason = `No admin has owned its cluster since ${instant(sinceMs)}`;
  return state.record.status === 'unreachable' ? unchanged(state) : inStatus(state, 'unreachable', nowMs, reason);
}

/**
 * Statuses that are better than the one that is told and that the session shows, best first, each with its beginning.
 */
function betterSteps(
  session: LiveSession,
  told: NodeStatus,
): readonly { readonly status: NodeStatus; readonly sinceMs: number }[] {
  const steps = [
    ...(session.wellSinceMs === null ? [] : [{ status: 'healthy' as const, sinceMs: session.wellSinceMs }]),
    { status: 'unhealthy' as const, sinceMs: session.connectedAtMs },
  ];
  return steps.filter(({ status }) => isBetter(status, told));
}

function isBetter(status: NodeStatus, than: NodeStatus): boolean {
  return NODE_STATUSES.indexOf(status) < NODE_STATUSES.indexOf(than);
}

/** The node in another status, with the change that stores and tells it. */
function inStatus(
  state: NodeState,
  status: NodeStatus,
  nowMs: number,
  reason = reasonFor(state, status),
): Step<NodeState> {
  const { standing } = state.record;
  const event = (record: NodeRecord): DomainEvent => ({
    type: 'edge.node.status_changed',
    subject: record.id,
    atMs: nowMs,
    data: { ...nodeSnapshot(record, state.aliases), previous_status: state.record.status },
  });
  return stored(
    state,
    status,
    { sinceMs: nowMs, changesMs: changesWith(standing.changesMs, nowMs), reason },
    event,
    nowMs,
  );
}

/**
 * The reason for the same status, stored when it is another one: no news for the world, and not more often than agents
 * report.
 */
function explained(state: NodeState, nowMs: number): Step<NodeState> {
  const { record } = state;
  const { evidence, reason } = record.standing;
  const now = reasonFor(state, record.status);
  if (now === reason) return unchanged(state);
  if (evidence !== null && Math.abs(nowMs - Date.parse(evidence.observed_at)) < REPORT_INTERVAL_MS)
    return unchanged(state);
  return stored(state, record.status, { ...record.standing, reason: now }, null, nowMs);
}

function stored(
  state: NodeState,
  status: NodeStatus,
  { sinceMs, changesMs, reason }: Pick<Standing, 'sinceMs' | 'changesMs' | 'reason'>,
  event: ((record: NodeRecord) => DomainEvent) | null,
  nowMs: number,
): Step<NodeState> {
  const { session } = state;
  const standing: Standing = {
    sinceMs,
    reason,
    evidence: evidenceOf(session, state.record.standing.evidence, nowMs),
    changesMs,
  };
  const record: NodeRecord = { ...seen(state, nowMs), status, standing, updatedAtMs: nowMs };
  return step({ ...state, record }, [
    {
      write: { kind: 'node-status', node: record.id, status, standing, atMs: nowMs },
      events: event === null ? [] : [event(record)],
      notices: [
        { type: 'node-changed', node: record.id },
        ...(event === null ? [] : [{ type: 'events-stored' as const }]),
      ],
    },
  ]);
}

function reasonFor({ record, session }: NodeState, told: NodeStatus): string | null {
  return reasonOf(record, session, told, session !== null && isBetter(statusOf(session), told));
}
