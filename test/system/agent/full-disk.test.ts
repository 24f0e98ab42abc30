/** An agent on a disk that is full: what waits, what goes on, and that nothing runs twice for it (C3, C9). */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { API_PORT_FILE, HEALTH_FILE, PID_FILE } from '../../../agent/data-directory.ts';
import { readStartLock } from '../../../agent/execution/exec-shim/start-lock.ts';
import { Journal } from '../../../agent/execution/journal/journal.ts';
import { Ledger } from '../../../agent/execution/ledger/ledger.ts';
import { machineTimeline } from '../../../agent/execution/timeline.ts';
import { aliveMs } from '../../../transport/net/uptime.ts';
import { silentLog } from '../../support/log.ts';
import { delivery, executionId } from '../../support/agent/session-fixture.ts';
import { until } from '../../support/until.ts';
import { AgentFixture, processesOf } from '../../support/agent/agent-fixture.ts';
import { Fixture } from '../../support/agent/executor-fixture.ts';
import { refusing } from '../../support/agent/refused-writes.ts';
import { fill, smallDisk } from '../../support/small-disk.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** A journal that refuses these writes until `accept` is called, and counts them. */
function refuse(
  fixture: Fixture,
  write: 'finish' | 'start',
): { readonly tries: () => number; readonly accept: () => void } {
  const { journal } = fixture;
  const [finish, start] = [journal.finish.bind(journal), journal.start.bind(journal)];
  let tries = 0;
  const refused = (): boolean => {
    tries += 1;
    return false;
  };
  journal[write] = refused;
  return { tries: () => tries, accept: () => Object.assign(journal, { finish, start }) };
}

async function inSeconds(seconds: number, tries: () => number): Promise<number> {
  await until('the first try', () => tries() > 0);
  const [before, beganMs] = [tries(), performance.now()];
  await until(`${seconds} s`, () => performance.now() > beganMs + seconds * 1_000);
  return tries() - before;
}

test.serial(
  'a script that cannot be written to the disk waits and is said to; it runs when there is room',
  async (t) => {
    const disk = smallDisk(t, 4_096);
    if (disk === null) {
      t.pass('not tried: this user cannot mount a disk');
      return;
    }
    const fixture = new Fixture(t, { concurrency: 1 }, disk);
    const [ran, go] = [join(temporaryDirectory(t), 'ran'), join(temporaryDirectory(t), 'go')];
    const first = fixture.start(`while [ ! -e ${go} ]; do sleep 0.02; done`);
    const second = fixture.start(`touch ${ran}; echo done; # ${'x'.repeat(100_000)}`);
    const free = fill(disk, 65_536);

    fixture.executor.cancel([first]);
    await until('the problem', () => fixture.executor.service.problem() !== null || fixture.journal.problem !== null);
    t.false(existsSync(ran));
    free();

    t.like(await fixture.result(second), { outcome: 'completed', exitCode: 0, output: 'done\n' });
    t.is(fixture.executor.service.problem(), null);
    t.is(fixture.journal.problem, null);
  },
);

test.serial(
  'files that a disk does not give away keep no stop from ending what runs, and from telling it',
  async (t) => {
    const { fixture, admin, session } = await AgentFixture.open(t);
    const execution = await fixture.taken(session, 'sleep 100');
    await until('its process', () => processesOf(execution).length > 0);
    // a mount keeps them as a disk does that became read-only, which would take no result either
    for (const name of [API_PORT_FILE, HEALTH_FILE, PID_FILE]) {
      const path = join(fixture.dataDirectory, name);
      if (spawnSync('mount', ['--bind', path, path]).status !== 0) {
        t.pass('not tried: this user mounts nothing');
        return;
      }
      t.teardown(() => execFileSync('umount', [path]));
    }

    const exit = fixture.terminate();

    t.like(await admin.result(execution), { outcome: 'cancelled', exit_code: 143 });
    t.deepEqual([await exit, processesOf(execution)], [{ code: 0, signal: null }, []]);
  },
);

for (const [how, isCancelled] of [
  ['by itself', false],
  ['as cancelled', true],
] as const)
  test.serial(
    `an end ${how} that the journal refuses is tried a few times a second, also past its timeout`,
    async (t) => {
      const timeline = machineTimeline();
      let laterMs = 0;
      const monotonicMs = () => timeline.monotonicMs() + laterMs;
      const fixture = new Fixture(t, { timeline: { ...timeline, monotonicMs } });
      const journal = refuse(fixture, 'finish');
      const execution = fixture.start(isCancelled ? 'sleep 100' : 'exit 3', { timeout_ms: 600_000 });
      if (isCancelled) fixture.executor.cancel([execution]);
      await until('its end', () => journal.tries() > 0);

      laterMs = 600_000;
      const tries = await inSeconds(2, journal.tries);
      journal.accept();

      t.true(tries <= 12, `${tries} tries in 2 s`);
      const { outcome, exitCode } = await fixture.result(execution);
      t.deepEqual([outcome, exitCode], isCancelled ? ['cancelled', 143] : ['completed', 3]);
    },
  );

test.serial(
  'a start that the journal refuses is tried once a second, however often other commands are looked at',
  async (t) => {
    const fixture = new Fixture(t, { concurrency: 2 });
    fixture.executor.tail(fixture.start('sleep 100'), 0, () => {});
    const go = join(fixture.directory, 'go');
    fixture.start(`until [ -e ${go} ]; do sleep 0.02; done`);
    const execution = fixture.start('echo ran');
    const journal = refuse(fixture, 'start');

    writeFileSync(go, '');
    const tries = await inSeconds(2, journal.tries);
    journal.accept();

    t.true(tries <= 4, `${tries} tries in 2 s`);
    t.like(await fixture.result(execution), { outcome: 'completed', exitCode: 0, output: 'ran\n' });
  },
);

/** As a power cut leaves it: its receipt is on the disk, and what came of it in the ledger alone. */
function leftBehind(directory: string, script: string, state: 'started' | 'ended' | 'confirmed'): void {
  const execution = executionId(1);
  const ledger = new Ledger(join(directory, 'executions.ledger'), silentLog);
  const journal = new Journal(join(directory, 'journal.db'), machineTimeline(), silentLog, ledger);
  journal.receive([delivery(1, { command_text: script })]);
  journal.close();
  ledger.start([{ execution, shim: '0123456789abcdef01234567' }]);
  if (state !== 'started') ledger.end([{ execution, outcome: 'completed', exitCode: 7, output: Buffer.from('out') }]);
  if (state === 'confirmed') ledger.confirm([execution]);
  ledger.close();
}

for (const [state, told] of [
  ['started', { outcome: 'cancelled', exitCode: 137, output: '' }],
  ['ended', { outcome: 'completed', exitCode: 7 }],
  ['confirmed', { outcome: 'completed', exitCode: 7 }],
] as const)
  test.serial(
    `an execution known as ${state} to the ledger alone runs no second time on a full disk, and ends once there is room`,
    async (t) => {
      const disk = smallDisk(t, 4_096);
      if (disk === null) {
        t.pass('not tried: this user cannot mount a disk');
        return;
      }
      const ran = join(temporaryDirectory(t), 'ran');
      leftBehind(disk, `touch ${ran}`, state);
      const free = fill(disk);
      const fixture = new Fixture(t, {}, disk);
      t.not(fixture.journal.problem, null);

      fixture.executor.recover();
      t.deepEqual([fixture.journal.waiting(), fixture.journal.load(executionId(1))], [[], null]);
      t.false(fixture.journal.start([{ execution: executionId(1), shim: 'another' }]));
      t.deepEqual(fixture.journal.holding(), [executionId(1)], 'hello names it, so that no admin gives it up');
      free();
      t.true(fixture.journal.heal());
      fixture.executor.release([{ execution: executionId(1), expiresInMs: null }], aliveMs());
      const result = await fixture.result(executionId(1));

      t.like(result, told);
      t.is(state === 'started' || /ended on this machine before and was not run again/u.test(result.output), true);
      t.false(existsSync(ran));
    },
  );

test.serial(
  'with the journal lost and the disk full, executions run on, can be cancelled, and report once there is room',
  async (t) => {
    const former = new Fixture(t);
    const [runs, cancelled] = [former.start('echo out; sleep 100'), former.start('sleep 100')];
    const keepers = join(former.directory, 'keepers');
    await until('start locks', () => readdirSync(keepers).every((shim) => readStartLock(join(keepers, shim)) !== null));
    former.executor.detach();
    former.journal.close();
    for (const name of readdirSync(former.directory).filter((file) => file.startsWith('journal.db')))
      rmSync(join(former.directory, name));
    const { fixture, directories } = refusing('COMMIT', () => {
      const next = new Fixture(t, {}, former.directory);
      next.executor.recover();
      return { fixture: next, directories: readdirSync(keepers).length };
    });
    t.deepEqual(fixture.journal.holding().toSorted(), [runs, cancelled].toSorted());
    t.is(directories, 2);
    t.true([runs, cancelled].every((execution) => processesOf(execution).length > 0));

    const refused = refuse(fixture, 'finish');
    fixture.executor.cancel([cancelled]);
    await until('its end', () => refused.tries() > 0);
    t.deepEqual(processesOf(cancelled), []);
    refused.accept();

    t.like(await fixture.result(cancelled), { outcome: 'cancelled', exitCode: 143, output: '' });
    t.true(processesOf(runs).length > 0);
    fixture.executor.cancel([runs]);
    t.like(await fixture.result(runs), { outcome: 'cancelled', exitCode: 143, output: 'out\n' });
  },
);
