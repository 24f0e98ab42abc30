/**
 * What a session does with executions that an admin names: new ones are stored and run, of those that it misses the
 * ending is told.
 */
import type { AgentFrameBody, Delivery } from '../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { SessionJournal, SessionRunner } from './ports.ts';

/** What these need of the session. */
export interface DeliveryPorts {
  readonly journal: SessionJournal;
  readonly runner: SessionRunner;
  readonly send: (body: AgentFrameBody) => void;
  /** The disk refused some: they come again with the next hello. */
  readonly refused: () => void;
  /** Sends their results. */
  readonly finished: (executions: readonly ExecutionId[]) => void;
}

/** Stores deliveries, acknowledges them and has them run; those that ran before are answered. */
export function arrived({ runner, send, refused, finished }: DeliveryPorts, deliveries: readonly Delivery[]): void {
  const { acknowledged, fresh, answered = [] } = runner.receive(deliveries);
  if (acknowledged.length > 0) send({ type: 'acknowledge', executions: [...acknowledged] });
  if (acknowledged.length < new Set(deliveries.map(({ execution }) => execution)).size) refused();
  if (fresh.length > 0) runner.run(fresh);
  if (answered.length > 0) finished(answered);
}

/** Sends how these ended. */
export function recalled({ journal, refused, finished }: DeliveryPorts, executions: readonly ExecutionId[]): void {
  const answered = journal.recall(executions);
  const held = new Set(journal.holding());
  if (answered.length > 0) finished(answered);
  if (!executions.every((execution) => held.has(execution))) refused();
}
