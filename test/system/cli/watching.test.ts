/** What goes on by itself: how it ends, and what it makes of a service that fails for a while. */
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { scaled } from '../../support/busy.ts';
import { startEdge } from '../../support/edge-program.ts';
import { openEdge } from '../../support/edge-terminal.ts';
import { until } from '../../support/until.ts';
import { edge, NODE, service, stranger, type Answer } from './foreign-service.ts';

const node = (status: string) => ({ id: NODE, name: 'web-1', cluster_name: 'prod', status, status_reason: null });
const LISTED = { data: [node('healthy')], pagination: { total_count: 1, has_next: false } };

/** A service whose answers come one after the other, the last one again and again; null: it is not available. */
async function answering(t: ExecutionContext, operation: string, answers: readonly unknown[], more: object = {}) {
  const left = [...answers];
  const answer: Answer = () => {
    const next = left.length > 1 ? left.shift() : left[0];
    if (next === null) throw new Error('Not now.');
    return next;
  };
  return stranger(t, (await service(t, { [operation]: answer, ...more })).url);
}

test('the table of loads ends at Ctrl-C, whoever has not answered yet', async (t) => {
  const asked = Promise.withResolvers<void>();
  const { url } = await service(t, {
    list_nodes: LISTED,
    get_node_metrics: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  });
  const terminal = openEdge(t, ['top'], stranger(t, url));
  await asked.promise;
  terminal.type('\u0003');

  t.is(await terminal.ended, 0);
});

test('a list that is drawn again ends at Ctrl-C, also while nobody answers', async (t) => {
  const clusters = { data: [{ name: 'prod', node_count: 1 }], pagination: { total_count: 1, has_next: false } };
  const asked = Promise.withResolvers<void>();
  let times = 0;
  const { url } = await service(t, {
    list_clusters: () => {
      times += 1;
      if (times === 1) return clusters;
      asked.resolve();
      return new Promise(() => {});
    },
  });
  const terminal = openEdge(t, ['cluster', 'ls', '--watch'], stranger(t, url));
  await asked.promise;
  terminal.type('\u0003');

  t.is(await terminal.ended, 0);
  t.regex(terminal.shown(), /prod +1 [^]*\^C\r␛\[K␛\[\?25h$/u, 'what comes next stands where ^C stood');
});

test('the table of loads outlives a service that fails', async (t) => {
  const env = await answering(t, 'list_nodes', [LISTED, null, LISTED], {
    get_node_metrics: { host: { available: false } },
  });
  const terminal = openEdge(t, ['top'], env);
  await terminal.shows(/web-1 [^]*Not now\.[^]*Ctrl-C ends/u);
  terminal.type('\u0003');

  t.is(await terminal.ended, 0);
});

test('waiting outlives a service that fails later than at first, and lasts as long as was said', async (t) => {
  const env = await answering(t, 'get_node', [node('healthy'), null, null, node('unreachable')]);
  const { status, stderr } = await edge(env, 'wait', NODE, '--for', 'unreachable');
  t.deepEqual([status, stderr.split('\n').length - 1], [0, 1], stderr);
  t.regex(stderr, /^edge: [^\n]*Not now\.[^\n]*; trying again\n$/u);

  const late = await answering(t, 'get_node', [node('healthy'), node('unreachable')]);
  t.is((await edge(late, 'wait', NODE, '--for', 'unreachable', '--timeout', `${scaled(1_000)}ms`)).status, 0);
  const away = await answering(t, 'get_node', [null]);
  t.is((await edge(away, 'wait', NODE)).status, 1);
});

test('Ctrl-C while a command is stored stops it where it runs', async (t) => {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()];
  const { url, asked: operations } = await service(t, {
    create_command: () => {
      asked.resolve();
      return answer.promise;
    },
  });
  const running = startEdge(['run', '--all', '--', 'true'], stranger(t, url));
  await asked.promise;
  running.process.kill('SIGINT');
  await delay(500); // it says nothing of a signal before it knows what to stop
  answer.resolve({ id: NODE, summary: { total: 1 } });
  await running.says('stderr', /asking all nodes to stop/u);
  await until('the cancel', () => operations.some(([operation]) => operation === 'cancel_command'));
  const { status } = await running.interrupt();

  t.is(status, 130);
});
