/**
 * Stored changes of executions to the commands that count them: one message a command and batch, however many
 * executions changed.
 */
import type { ExecutionChange } from '../actors/command/messages.ts';
import type { Notice } from '../actors/notice.ts';
import type { CommandId } from '../transport/protocol/ids.ts';
import type { Directory } from './runtime/directory.ts';

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
