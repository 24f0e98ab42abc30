/** What an admin reads of executions on nodes of other admins: how much at once, how often, and for how long. */
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import type { Notice } from '../../../actors/notice.ts';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import type { Addressed } from '../../../actors/messages.ts';
import type { WantedNews } from '../../../actors/news.ts';
import {
  AWAITED_A_ROUND_MAX,
  AWAITED_A_STATEMENT_MAX,
  ELSEWHERE_EVERY_MS,
  ELSEWHERE_NET_MS,
  ELSEWHERE_SOON_MS,
  watchElsewhere,
  type AwaitedExecution,
  type ReadExecution,
} from '../../../supervisors/elsewhere.ts';
import type { CommandId, ExecutionId, NodeId } from '../../../transport/protocol/ids.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { recordingLog } from '../../support/log.ts';
import type { Scope } from '../../support/scope.ts';
import { column } from '../../support/database/columns.ts';

const COMMAND = 'command' as CommandId;
const awaited = (index: number, node = 'there'): AwaitedExecution => ({
  execution: `execution-${index}` as ExecutionId,
  command: COMMAND,
  node: node as NodeId,
  status: 'pending',
});

/** One command with these executions, on a node that lives elsewhere and on one that lives here. */
function openElsewhere(scope: Scope, open: readonly AwaitedExecution[]) {
  const clock = createFakeClock();
  const log = recordingLog();
  const fixture = {
    here: new Set(['here']),
    open: [...open],
    watched: [] as AwaitedExecution[],
    read: [] as ReadExecution[],
    /** Commands that are stored. */
    stored: new Set<CommandId>(),
    isAway: false,
  };
  /** What is covered now; null: nothing. */
  let coverage: number | null = null;
  const wanted: WantedNews[] = [];
  let hear: (notices: readonly Notice[]) => void = () => undefined;
  const asked: (readonly string[])[] = [];
  const told: Addressed[] = [];
  const notices: Notice[] = [];
  const command = {
    get address() {
      return { kind: 'command', id: COMMAND };
    },
    get state() {
      return { open: new Map(fixture.open.map(({ execution, node, status }) => [execution, { node, status }])) };
    },
  };
  const stop = watchElsewhere({
    async changed(all) {
      asked.push(all.map(({ execution }) => execution));
      if (fixture.isAway) throw new DatabaseUnavailable('away');
      return fixture.read;
    },
    existing: async () => fixture.stored,
    watched: () => fixture.watched,
    directory: {
      cells: () => [command] as never,
      isLocal: ({ id }) => fixture.here.has(id),
      tellLocal: (one) => void told.push(one),
    },
    news: {
      publish: (all) => void notices.push(...all),
      subscribe(listener) {
        hear = listener;
        return () => {};
      },
    },
    source: { want: (_subscriber, one) => void wanted.push(one), coverage: () => coverage },
    clock,
    log,
  });
  scope.teardown(stop);
  /** One round. */
  const round = async (ms = ELSEWHERE_EVERY_MS): Promise<void> => {
    clock.pass(ms);
    for (let turns = 0; turns < 8; turns += 1) await turn();
  };
  return {
    fixture,
    asked,
    told,
    notices,
    log,
    round,
    wanted,
    cover: (number: number | null) => void (coverage = number),
    miss: () => hear([{ type: 'missed', what: 'commands' }]),
  };
}

test('only executions on nodes that do not live here are read, each once a round, also those that only a feed shows', async (t) => {
  const { fixture, asked, round } = openElsewhere(t, [awaited(1), awaited(2, 'here'), awaited(3)]);
  fixture.watched = [awaited(3), awaited(4)];

  await round();
  await round();

  t.deepEqual(asked, [
    ['execution-1', 'execution-3', 'execution-4'],
    ['execution-1', 'execution-3', 'execution-4'],
  ]);
});

test('where nothing is open nothing is asked', async (t) => {
  const { asked, round } = openElsewhere(t, [awaited(1, 'here')]);

  await round();
  await round();

  t.deepEqual(asked, []);
});

test('what changed is told as one that may have been told before; a row that is gone as its command, where that is gone', async (t) => {
  const { fixture, told, notices, round } = openElsewhere(t, [awaited(1), awaited(2)]);
  const [one, two] = [awaited(1), awaited(2)].map(({ execution, command, node }) => ({
    execution,
    command,
    node,
    clusterName: 'c',
  }));
  if (one === undefined || two === undefined) throw new Error('no executions');
  fixture.read = [
    { ...one, status: 'completed', exitCode: 3 },
    { ...two, status: null, exitCode: null },
  ];

  await round();

  t.deepEqual(notices, [
    { type: 'execution-changed', ...one, status: 'completed', exitCode: 3, again: true },
    { type: 'command-removed', command: COMMAND },
  ]);
  const forgotten: Addressed = {
    to: { kind: 'command', id: COMMAND },
    message: { type: 'executions-removed', executions: [two.execution] },
  };
  t.deepEqual(told, [forgotten]);

  fixture.stored.add(COMMAND);
  await round();

  t.deepEqual(notices.slice(3), [{ type: 'execution-removed', execution: two.execution, command: COMMAND }]);
  t.deepEqual(told, [forgotten, forgotten]);
});

test('an execution whose node comes here is read once more, for what its owner stored before', async (t) => {
  const { fixture, asked, round } = openElsewhere(t, [awaited(1)]);
  await round();

  fixture.here.add('there');
  await round();
  await round();

  t.deepEqual(asked, [['execution-1'], ['execution-1']]);
});

test('awaited executions are read in statements of bounded size, a bounded number a round, the rest in the next', async (t) => {
  const { asked, round } = openElsewhere(
    t,
    Array.from({ length: AWAITED_A_ROUND_MAX + 10 }, (_, index) => awaited(index)),
  );

  await round();
  const first = asked.splice(0);
  await round();

  t.deepEqual(
    column(first, 'length'),
    Array.from({ length: AWAITED_A_ROUND_MAX / AWAITED_A_STATEMENT_MAX }, () => AWAITED_A_STATEMENT_MAX),
  );
  t.is(asked.flat().length, 10);
  t.is(new Set([...first, ...asked].flat()).size, AWAITED_A_ROUND_MAX + 10);
});

test('a database that is away is asked again in the next round, without a word', async (t) => {
  const { fixture, asked, log, round } = openElsewhere(t, [awaited(1)]);
  fixture.isAway = true;

  await round();
  await round();

  t.is(asked.length, 2);
  t.deepEqual(
    log.lines.filter(({ level }) => level !== 'debug'),
    [],
  );
});

test('what is told is read once under each coverage, again after a gap, and now and then all the same', async (t) => {
  const { asked, round, cover } = openElsewhere(t, [awaited(1)]);
  const reads = async (rounds: number): Promise<number> => {
    const before = asked.length;
    for (let done = 0; done < rounds; done += 1) await round();
    return asked.length - before;
  };

  const uncovered = await reads(3);
  cover(1);
  const covered = await reads(3);
  cover(2);
  const afterGap = await reads(3);
  const net = await reads(ELSEWHERE_NET_MS / ELSEWHERE_EVERY_MS);

  t.deepEqual([uncovered, covered, afterGap, net], [3, 1, 1, 1]);
});

test('a reading that failed is done again, also where all is told', async (t) => {
  const { fixture, asked, round, cover } = openElsewhere(t, [awaited(1)]);
  cover(1);
  fixture.isAway = true;

  await round();
  fixture.isAway = false;
  await round();
  await round();

  t.is(asked.length, 2);
});

test('after word of a gap it is looked at once, once for many such words', async (t) => {
  const { asked, round, miss } = openElsewhere(t, [awaited(1)]);
  await round();

  miss();
  miss();
  await round(ELSEWHERE_SOON_MS);
  const soon = asked.length;
  await round(ELSEWHERE_SOON_MS);

  t.deepEqual([soon, asked.length], [2, 2]);
});

test('an execution whose node comes here is read once more, also where all is told', async (t) => {
  const { fixture, asked, round, cover } = openElsewhere(t, [awaited(1)]);
  cover(1);
  await round();
  await round();

  fixture.here.add('there');
  await round();
  await round();

  t.deepEqual(asked, [['execution-1'], ['execution-1']]);
});

test('news is wanted of commands whose nodes are elsewhere, and of all where they are too many for one round', async (t) => {
  const { fixture, wanted, round } = openElsewhere(t, [awaited(1), awaited(2, 'here')]);
  await round();
  fixture.open = [awaited(1, 'here')];
  await round();
  fixture.open = Array.from({ length: AWAITED_A_ROUND_MAX + 10 }, (_, index) => awaited(index));
  await round();
  await round();
  await round();

  t.deepEqual(
    wanted.map(({ commands }) => commands),
    [new Set([COMMAND]), new Set(), 'all', 'all', 'all'],
  );
});
