/** `edge run` where executions are deleted while it follows them. */
import { TRPCClientError } from '@trpc/client';
import test from 'ava';
import type { Handlers } from '../../../../api/client/client.ts';
import type { Api, Command } from '../../../../cli/service/client.ts';
import { EXIT } from '../../../../cli/problem.ts';
import { runCommand, type RunOptions } from '../../../../cli/run/run.ts';
import { wholeSummary, type CommandState } from '../../../../cli/run/watch.ts';
import { commandOf } from '../../../support/api/command.ts';
import { idOf } from '../../../support/api/rows.ts';
import { until } from '../../../support/until.ts';

type Summary = Command['summary'];

const [COMMAND, FIRST, SECOND] = [idOf(7), idOf(0), idOf(1)];
const DONE = { completed: 1, succeeded: 1 };

const command = (summary: Partial<Summary>) => {
  const none = commandOf(COMMAND);
  return { ...none, summary: { ...none.summary, ...summary } };
};

const running = (id: string) => ({ id, node_id: id, cluster_name: 'demo', status: 'sent', exit_code: null });

/** A run on so many nodes, whose service says what the test wants it to say. */
function run(nodes: number, summary: RunOptions['summary']) {
  let watch: Handlers<object> | undefined;
  const tails = new Map<string, Handlers<object>>();
  const unsubscribe = (): void => {};
  const api = {
    create_command: { mutate: () => Promise.resolve(command({ total: nodes, pending: nodes })) },
    list_nodes: { query: () => Promise.resolve({ data: [], pagination: { total_count: 0 } }) },
    list_command_executions: { query: () => Promise.resolve({ data: [] }) },
    commands: {
      watch: {
        subscribe(_input: unknown, handlers: Handlers<object>) {
          watch = handlers;
          return { unsubscribe };
        },
      },
    },
    executions: {
      tail: {
        subscribe({ id }: { readonly id: string }, handlers: Handlers<object>) {
          tails.set(id, handlers);
          return { unsubscribe };
        },
      },
    },
  } as unknown as Api;
  const never = new AbortController().signal;
  const status = runCommand(
    api,
    { api, close() {} },
    { command_text: 'true', targeting: { type: 'all' } },
    {
      format: 'table',
      summary,
      isRaw: false,
      isColoured: false,
      waitsForAway: true,
      isFramed: false,
      cancel: never,
      leave: never,
    },
  );
  return {
    status,
    isWatched: () => until('the feed is asked for', () => watch !== undefined),
    areTailed: (count: number) => until('outputs are followed', () => tails.size === count),
    tail: (id: string) => tails.get(id)!,
    says: (summaryNow: Partial<Summary>, ...ids: readonly string[]) =>
      watch?.onData({
        id: '1',
        data: {
          type: 'snapshot',
          page: 1,
          pages: 1,
          command: command(summaryNow),
          executions: ids.map((id) => running(id)),
        },
      }),
    saysDone: (id: string, summaryNow: Partial<Summary> = { total: 1, ...DONE }, exitCode = 0) =>
      watch?.onData({
        id: '2',
        data: {
          type: 'changed',
          summary: command(summaryNow).summary,
          executions: [{ id, status: 'completed', exit_code: exitCode }],
        },
      }),
  };
}

const GONE = TRPCClientError.from({
  error: { message: 'Resource not found', code: -32_004, data: { code: 'not_found' } },
});

const ENDS = {
  'stops without an end, as those of older admins do': () => {},
  'is refused': ({ onError }: Handlers<object>) => onError(GONE),
};

for (const [how, end] of Object.entries(ENDS))
  test(`a run ends as unfinished where an execution was deleted and its output ${how}`, async (t) => {
    const { status, isWatched, areTailed, tail, says, saysDone } = run(2, null);
    await isWatched();
    says({ total: 2, sent: 2 }, FIRST, SECOND);
    await areTailed(2);

    end(tail(FIRST));
    says({ total: 1, sent: 1 }, SECOND);
    saysDone(SECOND);
    tail(SECOND).onData({ id: '0', data: { type: 'end' } });

    t.is(await status, EXIT.someUnfinished);
  });

for (const [how, exitCode, wanted] of [
  ['succeed', 0, EXIT.ok],
  ['fail', 3, EXIT.someFailed],
] as const)
  for (const summary of ['grouped', null] as const)
    test(`a run that saw an execution ${how} knows it once that is deleted, and ends as it went (${summary})`, async (t) => {
      const { status, isWatched, areTailed, tail, says, saysDone } = run(2, summary);
      await isWatched();
      says({ total: 2, sent: 2 }, FIRST, SECOND);
      if (summary === null) await areTailed(2);

      saysDone(FIRST, { total: 2, sent: 1, completed: 1, [exitCode === 0 ? 'succeeded' : 'failed']: 1 }, exitCode);
      says({ total: 1, sent: 1 }, SECOND);
      saysDone(SECOND);
      if (summary === null) tail(SECOND).onData({ id: '0', data: { type: 'end' } });

      t.is(await status, wanted);
    });

test('what was seen to end and is deleted counts as it ended, and once, also amid the pages of a snapshot', (t) => {
  const [first, second] = [FIRST, SECOND].map((id) => ({ ...running(id), status: 'completed', exit_code: 3 }) as const);
  const ends = new Map([first!, second!].map((execution) => [execution.id, execution]));
  const now = { ...command({ total: 1, completed: 1, succeeded: 1 }).summary };
  const counted = (executions: CommandState['executions'], summary = now) =>
    wholeSummary({ summary, executions, ends }, 3);

  t.deepEqual(counted(new Map([[SECOND, second!]])), { ...now, total: 3, completed: 2, failed: 1 });
  t.deepEqual(counted(new Map(), { ...now, total: 3 }), { ...now, total: 3 });
});

test('a run whose only execution was deleted ends as unfinished: how it went nobody knows', async (t) => {
  for (const summary of ['grouped', 'differences', null] as const) {
    const { status, isWatched, says } = run(1, summary);
    await isWatched();

    says({ total: 1, sent: 1 }, FIRST);
    says({});

    t.is(await status, EXIT.someUnfinished);
  }
});
