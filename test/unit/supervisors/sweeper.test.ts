/** Who sweeps what: whole tables under a lease that one admin has, what belongs to owners at each admin. */
import test, { type ExecutionContext } from 'ava';
import { createBus } from '../../../actors/bus.ts';
import { DatabaseUnavailable, NothingWritten } from '../../../actors/ports.ts';
import {
  EXPIRY_EVERY_MS,
  FAILING_MS_MAX,
  FORGOTTEN_EVERY_MS,
  NAMES_EVERY_MS,
  PRUNE_EVERY_MS,
  startSweeper,
} from '../../../supervisors/sweeper.ts';
import type { Pruned, SweepPort } from '../../../supervisors/sweep-port.ts';
import { RENEW_MS } from '../../../supervisors/tasks/held-task.ts';
import type { Directory } from '../../../supervisors/runtime/directory.ts';
import { silentLog } from '../../support/log.ts';
import { channelFixture, LEASE_MS, settled } from './publishing/fixture.ts';

/** Sweeps of whole tables, and those for what this admin owns. */
const TABLES = ['dropOrphans', 'expireDue', 'forgetAdmins', 'markOwnerless', 'prune', 'sealAnew'];
const OWNERS = ['compareKeys', 'findForgotten', 'findGone', 'storePresence'];

const NOTHING_PRUNED: Pruned = { count: 0, isFull: false, notices: [] };
const NOTHING_ENDED = { executions: [], isFull: false };

function openSweeper(t: ExecutionContext) {
  const fixture = channelFixture();
  const calls: string[] = [];
  const called = <Result>(what: string, result: Result) => {
    calls.push(what);
    return Promise.resolve(result);
  };
  const sweeps: SweepPort = {
    expireDue: () => called('expireDue', NOTHING_ENDED),
    dropOrphans: () => called('dropOrphans', NOTHING_ENDED),
    dropOf: () => called('dropOf', NOTHING_ENDED),
    prunings: {
      executions: () => called('prune', NOTHING_PRUNED),
      commands: () => called('prune', NOTHING_PRUNED),
      events: () => called('prune', NOTHING_PRUNED),
      idempotencyRecords: () => called('prune', NOTHING_PRUNED),
      outputParts: () => called('prune', NOTHING_PRUNED),
      deliveries: () => called('prune', NOTHING_PRUNED),
      orphanDeliveries: () => called('prune', NOTHING_PRUNED),
      releaseFiles: () => called('prune', NOTHING_PRUNED),
      publicKeys: () => called('prune', NOTHING_PRUNED),
      consoleSessions: () => called('prune', NOTHING_PRUNED),
      selfUpdateNodes: () => called('prune', NOTHING_PRUNED),
      recordings: () => called('prune', NOTHING_PRUNED),
    },
    storePresence: () => called('storePresence', undefined),
    findForgotten: () => called('findForgotten', { pending: [], cancels: [] }),
    markOwnerless: () => called('markOwnerless', []),
    forgetAdmins: () => called('forgetAdmins', 0),
    forgetNames: () => called('forgetNames', 0),
    findGone: () => called('findGone', []),
    compareKeys: () => called('compareKeys', undefined),
    sealAnew: () => called('sealAnew', false),
    batchRows: 10,
  };
  const start = (isClockRight = true) => {
    const sweeper = startSweeper({
      ...fixture.ports,
      sweeps,
      directory: {} as Directory,
      bus: createBus(silentLog),
      isClockRight: () => isClockRight,
      missed: () => calls.push('missed'),
    });
    t.teardown(() => sweeper.stop());
    return sweeper;
  };
  /** What was swept in that time. */
  const sweptIn = async (ms: number): Promise<string[]> => {
    calls.length = 0;
    await fixture.pass(ms);
    return [...new Set(calls)].toSorted();
  };
  return { ...fixture, sweeps, start, sweptIn };
}

test('the admin that has the lease sweeps whole tables, the others only what they own', async (t) => {
  const { row, start, sweptIn } = openSweeper(t);
  row.holder = 'another';
  const sweeper = start();

  t.deepEqual(await sweptIn(PRUNE_EVERY_MS + RENEW_MS), OWNERS);
  t.false(sweeper.holds());
  row.holder = null;
  await sweptIn(RENEW_MS);

  t.deepEqual(await sweptIn(PRUNE_EVERY_MS + RENEW_MS), [...TABLES, ...OWNERS].toSorted());
  t.true(sweeper.holds());
});

test('a drained admin sweeps no table while others live, and goes on with what it owns', async (t) => {
  const { row, standing, start, sweptIn } = openSweeper(t);
  const sweeper = start();
  t.true((await sweptIn(2 * EXPIRY_EVERY_MS)).includes('expireDue'));

  standing.takesTasks = false;
  await sweptIn(RENEW_MS);

  t.deepEqual([row.holder, sweeper.holds()], [null, false]);
  t.deepEqual(await sweptIn(PRUNE_EVERY_MS + RENEW_MS), OWNERS);
  t.is(row.holder, null);
});

test('a sweep of expired executions has its nodes looked for where its answer is lost, and not where it wrote nothing', async (t) => {
  const { sweeps, start, sweptIn } = openSweeper(t);
  start();
  t.false((await sweptIn(2 * EXPIRY_EVERY_MS)).includes('missed'));

  const sweptAfter = (reason: Error) => {
    Object.assign(sweeps, { expireDue: () => Promise.reject(reason) });
    return sweptIn(EXPIRY_EVERY_MS);
  };

  t.false((await sweptAfter(new NothingWritten('no connection was to be had'))).includes('missed'));
  t.true((await sweptAfter(new DatabaseUnavailable('cut'))).includes('missed'));
});

test('one that was paused beyond its lease sweeps no table when it wakes and another has taken over', async (t) => {
  const { row, pause, start, sweptIn } = openSweeper(t);
  const sweeper = start();
  t.true((await sweptIn(2 * EXPIRY_EVERY_MS)).includes('expireDue'));

  pause(LEASE_MS);
  row.holder = 'another';

  t.deepEqual(await sweptIn(FORGOTTEN_EVERY_MS), ['compareKeys', 'findForgotten']);
  t.false(sweeper.holds());
});

test('pruning goes on at once while anything that it deletes fills its batch', async (t) => {
  for (const kind of Object.keys(openSweeper(t).sweeps.prunings)) {
    const { sweeps, start, pass } = openSweeper(t);
    let rounds = 0;
    const prune = async () => ({ ...NOTHING_PRUNED, isFull: (rounds += 1) < 3 });
    Object.assign(sweeps.prunings, { [kind]: prune });
    start();

    await pass(PRUNE_EVERY_MS + RENEW_MS);

    t.is(rounds, 3, kind);
  }
});

test('where the clocks differ nothing is deleted: no node, no admin, no name, and nothing that was kept for long enough', async (t) => {
  const deletions = ['findGone', 'forgetAdmins', 'forgetNames', 'prune'];
  const deletedWhere = async (isClockRight: boolean): Promise<string[]> => {
    const { start, sweptIn } = openSweeper(t);
    start(isClockRight);
    return (await sweptIn(NAMES_EVERY_MS + RENEW_MS)).filter((what) => deletions.includes(what));
  };

  t.deepEqual(await deletedWhere(true), deletions);
  t.deepEqual(await deletedWhere(false), []);
});

test('what cannot be pruned holds up nothing else, and the log says so once it has failed for a while', async (t) => {
  const { sweeps, start, pass, sweptIn, log } = openSweeper(t);
  const warnings = () =>
    log.lines.filter(({ level }) => level === 'warn').map(({ fields }) => (fields as { what: string }).what);
  const late = () => Promise.reject(new NothingWritten('it takes too long'));
  Object.assign(sweeps.prunings, { executions: late });
  start();

  t.true((await sweptIn(PRUNE_EVERY_MS + RENEW_MS)).includes('prune'));
  t.deepEqual(warnings(), []);
  await pass(FAILING_MS_MAX);
  t.deepEqual(warnings(), ['pruning executions']);

  Object.assign(sweeps.prunings, { executions: async () => NOTHING_PRUNED });
  await pass(FAILING_MS_MAX);
  Object.assign(sweeps.prunings, { executions: late });
  await pass(FAILING_MS_MAX);

  t.is(warnings().length, 1);
});

test('stopped, it gives the lease back when the last batch is over', async (t) => {
  const { row, sweeps, start, pass } = openSweeper(t);
  const { promise, resolve } = Promise.withResolvers<typeof NOTHING_ENDED>();
  const sweeper = start();
  Object.assign(sweeps, { expireDue: () => promise });
  await pass(2 * EXPIRY_EVERY_MS);

  const stopping = sweeper.stop();
  await settled();
  t.is(row.holder, 'me');
  resolve(NOTHING_ENDED);
  await stopping;

  t.deepEqual([row.holder, row.calls.at(-1)], [null, 'release']);
});
