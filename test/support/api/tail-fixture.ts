/** One execution whose output is followed, without a database and an agent. */
import type { ExecutionResource } from '../../../actors/resources/command.ts';
import type { TailMessage } from '../../../api/feeds/tail.ts';
import {
  commandId,
  createFixture,
  executionId,
  executionOf,
  gather,
  granted,
  idOf,
  nodeId,
  settle,
  type Fixture,
} from './rows.ts';

/** Feeds with one execution, which is like this. */
export function fixtureWith(execution: Partial<ExecutionResource>): Fixture {
  const fixture = createFixture();
  fixture.executions.set(idOf(0), executionOf(0, 7, execution));
  return fixture;
}

/** One who reads its output, from where the message with this id left it. */
export async function follow(fixture: Fixture, lastEventId?: string) {
  const controller = new AbortController();
  const reader = await granted(
    fixture.feeds.executions.tail(executionId(0), { lastEventId, signal: controller.signal }),
  );
  const watching = gather(() => reader);
  await settle();
  return { ...watching, gone: () => controller.abort() };
}

/** It changes, and that is told. */
export function change(fixture: Fixture, changes: Partial<ExecutionResource>): void {
  const changed = { ...executionOf(0, 7), ...changes };
  fixture.executions.set(idOf(0), changed);
  fixture.bus.publish([
    {
      type: 'execution-changed',
      execution: executionId(0),
      command: commandId(7),
      node: nodeId(1_000),
      clusterName: 'demo',
      status: changed.status,
      exitCode: changed.exit_code,
    },
  ]);
}

/** It completes, and that is told. */
export function finish(fixture: Fixture, changes: Partial<ExecutionResource>): void {
  change(fixture, { status: 'completed', exit_code: 0, ...changes });
}

/** All of the output in these messages. */
export function textOf(messages: readonly TailMessage[]): string {
  return messages.map((message) => (message.type === 'output' ? message.text : '')).join('');
}
