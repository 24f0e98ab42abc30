/** What an admin does when others say that they stored work for its nodes. */
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import type { Addressed } from '../../../actors/messages.ts';
import { DatabaseUnavailable, NothingWritten, Unanswered } from '../../../actors/ports.ts';
import type { DueUpdate } from '../../../actors/node/updates-state.ts';
import { HEARD_COMMANDS_MAX, HeardWakeUps } from '../../../supervisors/wake-ups.ts';
import type { CommandId, NodeId } from '../../../transport/protocol/ids.ts';
import { CLUSTER, execution, id, NODE } from '../../support/actors.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { recordingLog } from '../../support/log.ts';

const OTHER = id<NodeId>('b', 2);
const [A, B, C] = [id<CommandId>('a', 1), id<CommandId>('a', 2), id<CommandId>('a', 3)];
const rescan = (node: NodeId) => ({ to: { kind: 'node', id: node }, message: { type: 'rescan' } });

/** Rows in which each command is pending on both nodes and is to be cancelled on one of them. */
function open() {
  const clock = createFakeClock();
  const log = recordingLog();
  const asked: string[] = [];
  const told: unknown[] = [];
  const fixture = {
    isAway: false,
    /** What a server that is there says, or what is said of it. */
    slow: null as Error | null,
    gate: Promise.resolve(),
    due: [] as readonly (DueUpdate & { node: NodeId })[],
  };
  const answer = async <T>(question: string, value: T): Promise<T> => {
    asked.push(question);
    await fixture.gate;
    if (fixture.isAway) throw new DatabaseUnavailable('away');
    if (fixture.slow !== null) throw fixture.slow;
    return value;
  };
  const cancels = [
    { node: NODE, execution: execution(1) },
    { node: NODE, execution: execution(2) },
  ];
  const wakeUps = new HeardWakeUps({
    rows: {
      pendingOf: (commands) => answer(`pending ${commands.join(' ')}`, [NODE, OTHER]),
      cancelsOf: (commands) => answer(`cancels ${commands.join(' ')}`, cancels),
      dueIn: (requests) => answer(`due ${requests?.join(' ') ?? 'anywhere'}`, fixture.due),
      findMissed: () =>
        answer('missed', { pending: [OTHER], cancels, expired: [{ node: NODE, execution: execution(3) }] }),
    },
    directory: {
      tell: (one, cluster) => told.push({ ...one, cluster }) > 0,
      tellLocal: (one: Addressed) => void told.push(one),
    },
    clock,
    log,
  });
  const settled = async (): Promise<void> => {
    for (let turns = 0; turns < 8; turns += 1) await turn();
  };
  return { wakeUps, fixture, clock, log, asked, told, settled };
}

test('nodes on which a command is pending look for it, and are never told to run it (C3)', async (t) => {
  const { wakeUps, asked, told, settled } = open();

  wakeUps.heard('run', [A]);
  await settled();

  t.deepEqual(asked, [`pending ${A}`]);
  t.deepEqual(told, [rescan(NODE), rescan(OTHER)]);
});

test('executions that are to be cancelled are told to their nodes, each node once', async (t) => {
  const { wakeUps, asked, told, settled } = open();

  wakeUps.heard('cancel', [A]);
  await settled();

  t.deepEqual(asked, [`cancels ${A}`]);
  t.deepEqual(told, [
    {
      to: { kind: 'node', id: NODE },
      message: { type: 'cancel', executions: [execution(1), execution(2)], replyTo: null },
    },
  ]);
});

test('a node whose turn has come in self-update requests is told of all of them at once', async (t) => {
  const { wakeUps, fixture, asked, told, settled } = open();
  const turns = ['one', 'two'].map((request) => ({ request, fromVersion: '1.0.0', dueAtMs: 5, isAsked: false }));
  fixture.due = turns.map((turn) => ({ ...turn, node: NODE }));

  wakeUps.due(['one', 'two']);
  await settled();

  t.deepEqual(asked, ['due one two']);
  t.deepEqual(told, [{ to: { kind: 'node', id: NODE }, message: { type: 'update', due: turns } }]);
});

test('what comes while rows are read is read together afterwards', async (t) => {
  const { wakeUps, fixture, asked, settled } = open();
  const { promise, resolve } = Promise.withResolvers<void>();
  fixture.gate = promise;

  wakeUps.heard('run', [A]);
  wakeUps.heard('run', [B]);
  wakeUps.heard('run', [C, B]);
  await settled();
  t.deepEqual(asked, [`pending ${A}`]);
  resolve();
  await settled();
  wakeUps.heard('run', [A]);
  await settled();

  t.deepEqual(asked, [`pending ${A}`, `pending ${B} ${C}`, `pending ${A}`]);
});

test('after a silence everything is looked for that may have been missed, and nothing twice', async (t) => {
  const { wakeUps, asked, told, settled } = open();

  wakeUps.heard('run', []);
  wakeUps.missed();
  wakeUps.heard('run', [A]);
  await settled();

  t.deepEqual(asked, ['missed', 'due anywhere', `pending ${A}`]);
  t.deepEqual(told.slice(0, 3), [
    { to: { kind: 'node', id: NODE }, message: { type: 'executions-expired', executions: [execution(3)] } },
    rescan(OTHER),
    {
      to: { kind: 'node', id: NODE },
      message: { type: 'cancel', executions: [execution(1), execution(2)], replyTo: null },
    },
  ]);
});

test('rows that cannot be read now are read in a moment, all of them: what had been heard is lost', async (t) => {
  const { wakeUps, fixture, clock, log, asked, told, settled } = open();
  fixture.isAway = true;
  wakeUps.heard('run', [A]);
  await settled();
  t.is(clock.waiting(), 1);

  fixture.isAway = false;
  clock.pass(250);
  await settled();

  t.deepEqual(asked, [`pending ${A}`, 'missed', 'due anywhere']);
  t.deepEqual(told[1], rescan(OTHER));
  t.deepEqual(
    log.lines.filter(({ level }) => level !== 'debug'),
    [],
  );
});

for (const slow of [new NothingWritten('ended by the server'), new Unanswered('given up here')])
  test(`rows not read in time (${slow.message}) are tried ever less, at least every 2 s; a lost database every 250 ms`, async (t) => {
    const { wakeUps, fixture, clock, asked, settled } = open();
    fixture.slow = slow;
    wakeUps.missed();
    await settled();
    const triesIn = async (ms: number): Promise<number> => {
      asked.length = 0;
      for (let passed = 0; passed < ms; passed += 250) {
        clock.pass(250);
        await settled();
      }
      return asked.length;
    };

    t.is(await triesIn(1_750), 3);
    t.is(await triesIn(10_000), 5);

    fixture.slow = null;
    t.is(await triesIn(2_000), 2);
    fixture.slow = slow;
    wakeUps.missed();
    await settled();
    t.is(await triesIn(250), 1);

    fixture.isAway = true;
    await triesIn(2_000);
    t.is(await triesIn(10_000), 40);
  });

test(`of more than ${HEARD_COMMANDS_MAX} commands that wait none is remembered: everything is looked for`, async (t) => {
  const { wakeUps, asked, settled } = open();

  wakeUps.heard(
    'run',
    Array.from({ length: HEARD_COMMANDS_MAX + 1 }, (_, index) => id<CommandId>('a', index)),
  );
  await settled();

  t.deepEqual(asked, ['missed', 'due anywhere']);
});

test('a node that came into a cluster of this admin is started, and counted', async (t) => {
  const { wakeUps, told } = open();

  wakeUps.moved(NODE, CLUSTER);

  t.deepEqual(told, [
    { ...rescan(NODE), cluster: CLUSTER },
    { to: { kind: 'cluster', id: CLUSTER }, message: { type: 'count-changed', by: 1 } },
  ]);
  await Promise.resolve();
});

test('stopped while it waits for the database, it ends, and reads no more', async (t) => {
  const { wakeUps, fixture, clock, asked, settled } = open();
  fixture.isAway = true;
  wakeUps.missed();
  await settled();

  await wakeUps.stop();
  wakeUps.heard('run', [A]);
  clock.pass(1_000);
  await settled();

  t.deepEqual(asked, ['missed']);
  t.is(clock.waiting(), 0);
});
