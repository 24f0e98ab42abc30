/** How an execution ends: the change that stores it, with its events and what is told of it. */
import type { ExecutionResult } from '../../transport/protocol/execution-result.ts';
import { EXIT_CANCELLED, EXIT_INTERRUPTED } from '../../transport/protocol/limits.ts';
import type { Notice } from '../notice.ts';
import type { Change } from '../step.ts';
import type { OpenExecution } from '../records.ts';
import { executionSnapshot } from './snapshots.ts';
import { traced } from './spans.ts';

const EVENTS_STORED: Notice = { type: 'events-stored' };

/**
 * The change that ends an execution as the agent reported it. One that was pending becomes sent and finished at once,
 * and both events tell of it (C6).
 */
export function ending(execution: OpenExecution, result: ExecutionResult, nowMs: number): Change {
  const status = result.outcome;
  const sentAtMs = execution.sentAtMs ?? nowMs;
  const progress = {
    status,
    exitCode: result.exit_code,
    sentAtMs,
    completedAtMs: status === 'completed' ? nowMs : null,
    cancelledAtMs: status === 'cancelled' ? nowMs : null,
    updatedAtMs: nowMs,
  };
  const event = {
    type: `edge.command_execution.${status}` as const,
    subject: execution.id,
    atMs: nowMs,
    data: executionSnapshot(execution, progress),
  };
  return {
    write: {
      kind: 'execution-finished',
      execution: execution.id,
      status,
      atMs: nowMs,
      sentAtMs,
      ending: {
        exitCode: result.exit_code,
        output: result.output,
        parts: result.parts,
        truncated: result.output_truncated,
      },
    },
    events: execution.status === 'pending' ? [sentEvent(execution, nowMs), event] : [event],
    notices: [changed(execution, status, result.exit_code), EVENTS_STORED],
    ...traced(execution, { status, exitCode: result.exit_code, atMs: nowMs, machine: result.trace }),
  };
}

/** The agent had it and has it no more: its machine lost the journal. It is over, and never runs again (C3). */
export function lost(execution: OpenExecution, nowMs: number): Change {
  return ending(
    execution,
    {
      execution: execution.id,
      outcome: 'cancelled',
      exit_code: EXIT_INTERRUPTED,
      output: '',
      parts: 0,
      output_truncated: false,
    },
    nowMs,
  );
}

/** A cancel that never reached an agent: no process ran, the code is that of a cancel. */
export function cancelledHere(execution: OpenExecution, nowMs: number): Change {
  const progress = {
    status: 'cancelled' as const,
    exitCode: EXIT_CANCELLED,
    sentAtMs: null,
    completedAtMs: null,
    cancelledAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  return {
    write: {
      kind: 'execution-finished',
      execution: execution.id,
      status: 'cancelled',
      atMs: nowMs,
      sentAtMs: null,
      ending: { exitCode: EXIT_CANCELLED, output: null, parts: 0, truncated: false },
    },
    events: [
      {
        type: 'edge.command_execution.cancelled',
        subject: execution.id,
        atMs: nowMs,
        data: executionSnapshot(execution, progress),
      },
    ],
    notices: [changed(execution, 'cancelled', EXIT_CANCELLED), EVENTS_STORED],
    ...traced(execution, { status: 'cancelled', exitCode: EXIT_CANCELLED, atMs: nowMs }),
  };
}

/** The agent has it in its journal (C4). */
export function sent(execution: OpenExecution, nowMs: number): Change {
  return {
    write: { kind: 'execution-sent', execution: execution.id, atMs: nowMs },
    events: [sentEvent(execution, nowMs)],
    notices: [changed(execution, 'sent', null), EVENTS_STORED],
  };
}

function sentEvent(execution: OpenExecution, nowMs: number): Change['events'][number] {
  const progress = {
    status: 'sent' as const,
    exitCode: null,
    sentAtMs: nowMs,
    completedAtMs: null,
    cancelledAtMs: null,
    updatedAtMs: nowMs,
  };
  return {
    type: 'edge.command_execution.sent',
    subject: execution.id,
    atMs: nowMs,
    data: executionSnapshot(execution, progress),
  };
}

function changed(
  execution: OpenExecution,
  status: 'sent' | 'completed' | 'cancelled',
  exitCode: number | null,
): Notice {
  return {
    type: 'execution-changed',
    execution: execution.id,
    command: execution.command.id,
    node: execution.node,
    clusterName: execution.clusterName,
    status,
    exitCode,
  };
}
