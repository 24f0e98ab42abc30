/** What tests of the executions of a node say to it, and what it says to its agent. */
import type { Notice } from '../../../../actors/notice.ts';
import type { ExecutionStatus } from '../../../../actors/resources/command.ts';
import { commandRecord, execution, MADE_MS, NODE, NOW_MS, session } from '../../../support/actors.ts';

/** An execution as its events tell it, once it was sent. */
export const snapshot = {
  command_execution_id: execution(1),
  command_id: commandRecord().id,
  node_id: NODE,
  cluster_name: 'factory',
  command_text: 'true',
  timeout: null,
  status: 'sent',
  exit_code: null,
  target_all: false,
  expired_at: null,
  sent_at: '2026-01-15T10:01:00.000Z',
  completed_at: null,
  cancelled_at: null,
  inserted_at: '2026-01-15T10:00:00.000Z',
  updated_at: '2026-01-15T10:01:00.000Z',
};

/** What is noticed when execution 1 changes. */
export function noticed(status: ExecutionStatus, exitCode: number | null = null): readonly Notice[] {
  const place = { command: commandRecord().id, node: NODE, clusterName: 'factory' };
  return [
    { type: 'execution-changed', execution: execution(1), ...place, status, exitCode },
    { type: 'events-stored' },
  ];
}

/** The write that ends an execution. By default it was sent a second after it was made, and left no output. */
export function finished(
  number: number,
  status: 'completed' | 'cancelled',
  ending: {
    readonly exitCode: number;
    readonly output?: string | null;
    readonly parts?: number;
    readonly truncated?: boolean;
  },
  sentAtMs: number | null = MADE_MS + 1_000,
) {
  const whole = { output: '', parts: 0, truncated: false, ...ending };
  return {
    kind: 'execution-finished',
    execution: execution(number),
    status,
    atMs: NOW_MS,
    sentAtMs,
    ending: whole,
  } as const;
}

/** The frame that goes to the agent, as an effect. */
export function sends(type: string, executions: readonly unknown[], to = 1) {
  return { type: 'send', session: session(to), frame: { type, executions } };
}

/** `count` numbers from `from` on. */
export function range(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}

/** The executions that a step delivers, in their order. */
export function delivered(step: { readonly effects: readonly { readonly type: string }[] }): readonly unknown[] {
  return step.effects.flatMap((effect) => {
    const { frame } = effect as { frame?: { type: string; deliveries?: readonly { execution: unknown }[] } };
    return frame?.type === 'deliver' ? (frame.deliveries ?? []).map((delivery) => delivery.execution) : [];
  });
}
