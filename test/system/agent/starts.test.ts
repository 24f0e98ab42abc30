/** What waits to run: when it starts, and what becomes of it when it does not. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { aliveMs } from '../../../transport/net/uptime.ts';
import { Fixture, processesNamed } from '../../support/agent/executor-fixture.ts';
import { delivery } from '../../support/agent/session-fixture.ts';
import { until } from '../../support/until.ts';
import { column } from '../../support/database/columns.ts';

test.serial('a waiting execution that expires is never started', async (t) => {
  const fixture = new Fixture(t, { concurrency: 1 });
  const file = join(fixture.directory, 'ran');
  const first = fixture.start('sleep 0.3');

  const late = fixture.start(`touch ${file}`, { expires_in_ms: 100 });
  await fixture.result(first);
  await fixture.run('true');

  t.false(existsSync(file));
  t.is(fixture.journal.result(late), null);
  t.true(fixture.journal.holding().includes(late));
  fixture.executor.settle([late]);
  t.false(fixture.journal.holding().includes(late));
});

test.serial('executions start in the order of delivery, so many at a time', async (t) => {
  const fixture = new Fixture(t, { concurrency: 2 });
  const ledger = join(fixture.directory, 'ledger');
  const lines = () => readFileSync(ledger, 'utf8').trim().split('\n');
  const starts = () => lines().filter((line) => line.startsWith('start '));
  const go = (index: number) => join(fixture.directory, `go-${index}`);
  const ends = Array.from({ length: 8 }, (_, index) =>
    fixture.run(
      `echo start ${index} >>${ledger}; while [ ! -e ${go(index)} ]; do sleep 0.02; done; echo end ${index} >>${ledger}`,
    ),
  );

  for (const [index, end] of ends.entries()) {
    // those that start beside this one have said so, or one that starts too early would not be seen
    await until('two to run, or the last', () => starts().length === Math.min(index + 2, ends.length));
    writeFileSync(go(index), '');
    await end;
  }

  let live = 0;
  let most = 0;
  for (const line of lines()) {
    live += line.startsWith('start ') ? 1 : -1;
    most = Math.max(most, live);
  }
  t.is(most, 2);
  const together = starts().slice(0, 2); // which may write in either order
  t.deepEqual(
    [...together.toSorted(), ...starts().slice(2)],
    ends.map((_end, index) => `start ${index}`),
  );
});

test.serial('one that may be over waits for the answer of an admin, and those behind it wait as well', async (t) => {
  const fixture = new Fixture(t, { concurrency: 1 });
  const ledger = join(fixture.directory, 'ledger');
  fixture.executor.arriving(aliveMs() - 18_000);
  const older = fixture.start(`echo older >>${ledger}`, { expires_in_ms: 15_000 });
  const younger = fixture.start(`echo younger >>${ledger}`);

  t.deepEqual([[...fixture.executor.held().keys()], fixture.journal.started()], [[older], []]);
  fixture.executor.release([{ execution: older, expiresInMs: 60_000 }], aliveMs());

  for (const execution of [older, younger]) await fixture.result(execution);
  t.is(readFileSync(ledger, 'utf8'), 'older\nyounger\n');
});

test.serial(
  'one behind an execution that may be over starts once that is over for sure, though no admin answers',
  async (t) => {
    const fixture = new Fixture(t, { concurrency: 1 });
    const ledger = join(fixture.directory, 'ledger');
    fixture.executor.arriving(aliveMs() - 1_500);
    const older = fixture.start(`echo older >>${ledger}`, { expires_in_ms: 1_000 });
    const younger = fixture.start(`echo younger >>${ledger}`);

    t.deepEqual([[...fixture.executor.held().keys()], fixture.journal.started()], [[older], []]);
    await until('the end of the younger', () => fixture.journal.result(younger) !== null);

    t.is(readFileSync(ledger, 'utf8'), 'younger\n');
    t.deepEqual([...fixture.executor.held().keys()], [older]);
  },
);

test.serial('a cancelled execution that waits never starts, and one that is settled leaves nothing', async (t) => {
  const fixture = new Fixture(t, { concurrency: 1 });
  const file = join(fixture.directory, 'ran');
  const running = fixture.start('sleep 100');
  const [cancelled, settled] = [fixture.start(`touch ${file}`), fixture.start(`touch ${file}`)];

  fixture.executor.cancel([cancelled]);
  fixture.executor.settle([settled, running]);

  t.like(await fixture.result(cancelled), { outcome: 'cancelled', exitCode: 143, output: '' });
  await until('the journal to have it', () => fixture.journal.holding().length === 1);
  t.deepEqual(fixture.journal.holding(), [cancelled]);
  t.false(existsSync(file));
});

test.serial(
  'closing ends what runs and what waits as cancelled; without the node it leaves what waits to the next agent',
  async (t) => {
    const fixture = new Fixture(t, { concurrency: 1 });
    const running = fixture.start('echo so far; sleep 100');
    const waiting = fixture.start('echo later');
    await until(
      'it to run',
      () => processesNamed(running).length > 0 || readdirSync(join(fixture.directory, 'keepers')).length > 0,
    );

    await fixture.executor.close();

    for (const execution of [running, waiting])
      t.like(fixture.journal.result(execution), { outcome: 'cancelled', exitCode: 143 });
    const kept = new Fixture(t, { concurrency: 1 });
    kept.start('sleep 100');
    const later = kept.start('echo later');
    await kept.executor.close({ keepsWaiting: true });
    t.deepEqual(kept.journal.waiting(), [later]);
  },
);

test.serial('an agent that takes up more than may run at once starts nothing beside it', async (t) => {
  const before = new Fixture(t, { concurrency: 3 });
  const left = [1, 2, 3].map(() => before.start('sleep 1'));
  before.executor.detach();
  before.journal.close();
  const fixture = new Fixture(t, { concurrency: 1 }, before.directory);
  fixture.executor.recover();

  const { fresh } = fixture.executor.receive([1, 2, 3, 4].map((n) => delivery(n)));

  t.is(fresh.length, 4);
  t.deepEqual(column(fixture.journal.started(), 'execution'), left);
});

test.serial('what is settled after an executor has let go stays for the next one, which ends it', async (t) => {
  const before = new Fixture(t);
  const word = `86${process.pid}`;
  const left = before.start(`sleep ${word}`);
  await until('it to run', () => processesNamed(word).length > 0);
  before.executor.detach();

  before.executor.settle([left]);

  t.deepEqual(column(before.journal.started(), 'execution'), [left]);
  before.journal.close();
  const after = new Fixture(t, {}, before.directory);
  after.executor.recover();
  after.executor.settle([left]);
  await until('it to be gone', () => after.journal.holding().length === 0);
  t.deepEqual(processesNamed(word), []);
});
