/** When a run no longer waits for machines that are away. */
import test, { type ExecutionContext } from 'ava';
import { createClient } from '../../../cli/service/client.ts';
import { AwayWatch } from '../../../cli/run/away.ts';
import type { CommandState, WatchedExecution } from '../../../cli/run/watch.ts';
import { until } from '../../support/until.ts';
import { service, type Answer } from './foreign-service.ts';

/** A command of so many nodes, none of which has finished. */
function stateOf(count: number, status: 'pending' | 'sent'): CommandState {
  const executions = new Map<string, WatchedExecution>();
  for (let index = 0; index < count; index += 1) {
    const id = `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`;
    executions.set(id, { id, node_id: id, cluster_name: 'prod', status, exit_code: null });
  }
  const none = { completed: 0, succeeded: 0, failed: 0, cancelled: 0, expired: 0, dropped: 0 };
  return { summary: { total: count, pending: 0, sent: 0, [status]: count, ...none }, executions, ends: new Map() };
}

/** A watch of a service that answers so; what it told, and the most ids that stood in one question. */
async function watch(t: ExecutionContext, state: CommandState, answer: Answer) {
  const told: string[] = [];
  const { url, asked } = await service(t, { list_nodes: answer });
  const away = new AwayWatch(createClient({ url, key: null }), {
    onlyAway: () => told.push('only away'),
    unknown: (error) => told.push(String(error)),
  });
  t.teardown(() => away.end());
  away.heard(state);
  return { told, asked };
}

const connected = (count: number) => ({ data: [], pagination: { total_count: count, has_next: false } });

test('all nodes are asked for, as many at a time as a URL takes', async (t) => {
  const { told, asked } = await watch(t, stateOf(250, 'pending'), () => connected(0));
  await until('the end', () => told.length > 0);

  t.deepEqual(told, ['only away']);
  t.deepEqual(
    asked.map(([, { node_id__in: ids }]) => (ids as readonly string[]).length),
    [100, 100, 50],
  );
});

test('a service that does not answer is told of once, and asked on', async (t) => {
  let isWell = false;
  const { told, asked } = await watch(t, stateOf(1, 'pending'), () => {
    if (isWell) return connected(0);
    throw new Error('Not now.');
  });
  await until('what is told', () => asked.length > 6);
  t.deepEqual(told, ['TRPCClientError: Error: Not now.']);
  isWell = true;
  await until('the end', () => told.length > 1);

  t.is(told[1], 'only away');
});
