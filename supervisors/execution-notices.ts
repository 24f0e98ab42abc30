/** What the tree makes of notices: commands count their executions, metrics those that ended and what was triggered. */
import type { ExecutionChange } from '../actors/command/messages.ts';
import type { Notice } from '../actors/notice.ts';
import type { CommandId } from '../transport/protocol/ids.ts';
import type { Directory } from './runtime/directory.ts';
import { ObservedHistogram } from '../transport/net/histogram.ts';
import type { ExecutionStatus } from '../actors/resources/command.ts';

/** A listener of the bus. Commands that are not here have nothing to count: their rows tell. */
export function countForCommands(directory: Directory): (notices: readonly Notice[]) => void {
  return (notices) => {
    const byCommand = new Map<CommandId, ExecutionChange[]>();
    for (const notice of notices) {
      if (notice.type !== 'execution-changed' || notice.status === 'pending') continue;
      const change = {
        execution: notice.execution,
        node: notice.node,
        status: notice.status,
        exitCode: notice.exitCode,
      };
      const changes = byCommand.get(notice.command);
      if (changes === undefined) byCommand.set(notice.command, [change]);
      else changes.push(change);
    }
    for (const [id, changes] of byCommand)
      directory.tellLocal({ to: { kind: 'command', id }, message: { type: 'executions-changed', changes } });
  };
}

/** Since the start. */
export type EndedExecutions = Record<Exclude<ExecutionStatus, 'pending' | 'sent'>, number>;

/** All at zero. */
export function noneEnded(): EndedExecutions {
  return { completed: 0, cancelled: 0, expired: 0, dropped: 0 };
}

/**
 * A listener of the bus that counts on `ended`. What may have been told before is left out: after an outage a batch may
 * be missing, and nothing is there twice.
 */
export function countEnded(ended: EndedExecutions): (notices: readonly Notice[]) => void {
  return (notices) => {
    for (const notice of notices) {
      if (
        notice.type !== 'execution-changed' ||
        notice.status === 'pending' ||
        notice.status === 'sent' ||
        notice.again === true
      )
        continue;
      ended[notice.status] += 1;
    }
  };
}

/** Upper bounds from a node's turn to its trigger, in s: an agent has 60 s to answer. Source: docs/updates.md. */
const TRIGGER_BOUNDS_S = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

/** None yet. In s. */
export function noTriggers(): ObservedHistogram {
  return new ObservedHistogram(TRIGGER_BOUNDS_S);
}

/** A listener of the bus that observes on `triggers`. */
export function observeTriggers(triggers: ObservedHistogram): (notices: readonly Notice[]) => void {
  return (notices) => {
    for (const notice of notices)
      if (notice.type === 'self-update-changed' && notice.triggeredAfterMs !== undefined)
        triggers.observe(notice.triggeredAfterMs / 1_000);
  };
}
