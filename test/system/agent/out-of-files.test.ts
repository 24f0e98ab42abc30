/**
 * An agent while no file can be opened: it goes on, what it cannot see is not known to it, and what it begins leaves
 * nothing.
 */
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { readStartLock } from '../../../agent/execution/exec-shim/start-lock.ts';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import { machineTimeline } from '../../../agent/execution/timeline.ts';
import { processesOf } from '../../support/agent/agent-fixture.ts';
import { Fixture } from '../../support/agent/executor-fixture.ts';
import { takeDescriptors } from '../../support/descriptors.ts';
import { until } from '../../support/until.ts';

function hasEnded(pid: number): boolean {
  try {
    return !process.kill(pid, 0);
  } catch {
    return true;
  }
}

for (const [how, cancelled] of [
  ['is seen', () => []],
  ['stands although it was cancelled meanwhile', (execution) => [execution]],
] as const satisfies readonly [string, (execution: ExecutionId) => readonly ExecutionId[]][])
  test.serial(`an end that came while no file could be opened ${how}, once one can`, async (t) => {
    const former = new Fixture(t);
    const go = join(former.directory, 'go');
    const execution = former.start(`echo out; until [ -e ${go} ]; do sleep 0.02; done; exit 3`);
    const [name = ''] = readdirSync(join(former.directory, 'keepers'));
    const directory = join(former.directory, 'keepers', name);
    const { pid } = await until('its start lock', () => readStartLock(directory));
    former.executor.detach();
    former.journal.close();
    const fixture = new Fixture(t, {}, former.directory);
    fixture.executor.recover();
    const descriptors = takeDescriptors(t, 0);
    if (descriptors === null) {
      t.pass('not tried: there is no prlimit here');
      return;
    }

    mkdirSync(go); // takes no descriptor
    await until('the end of the exec shim', () => hasEnded(pid));
    descriptors.refill(); // with those that its end gave back
    fixture.executor.cancel(cancelled(execution)); // looks at all that runs
    descriptors.giveBack();

    t.like(await fixture.result(execution), { outcome: 'completed', exitCode: 3, output: 'out\n' });
  });

test.serial('what is cancelled while no file can be opened is ended once one can', async (t) => {
  const fixture = new Fixture(t);
  const execution = fixture.start('echo out; sleep 100');
  const descriptors = takeDescriptors(t, 0);
  if (descriptors === null) {
    t.pass('not tried: there is no prlimit here');
    return;
  }

  fixture.executor.cancel([execution]);
  descriptors.giveBack();

  t.like(await fixture.result(execution), { outcome: 'cancelled', exitCode: 143 });
  t.deepEqual(processesOf(execution), []);
});

test.serial(
  'a timeout that passes while no file can be opened is looked at a few times a second, and told in the end',
  async (t) => {
    const timeline = machineTimeline();
    let asked = 0;
    const monotonicMs = () => {
      asked += 1;
      return timeline.monotonicMs();
    };
    const fixture = new Fixture(t, { timeline: { ...timeline, monotonicMs } });
    const execution = fixture.start('sleep 100', { timeout_ms: 300 });
    const descriptors = takeDescriptors(t, 0);
    if (descriptors === null) {
      t.pass('not tried: there is no prlimit here');
      return;
    }

    const beganMs = timeline.monotonicMs();
    await until('the timeout, and a second behind it', () => {
      descriptors.refill(); // with those that its start gives back
      return timeline.monotonicMs() > beganMs + 1_300;
    });
    const askedMeanwhile = asked;
    descriptors.giveBack();

    t.true(askedMeanwhile < 100, `the clock was asked ${askedMeanwhile} times`);
    t.like(await fixture.result(execution), { outcome: 'completed', exitCode: 124 });
  },
);

test.serial(
  'a start that no file can be opened for is tried once a second, however often other commands are looked at',
  async (t) => {
    const fixture = new Fixture(t);
    const watched = fixture.start('sleep 100');
    fixture.executor.tail(watched, 0, () => {});
    const keepers = join(fixture.directory, 'keepers');
    const descriptors = takeDescriptors(t, 0);
    if (descriptors === null) {
      t.pass('not tried: there is no prlimit here');
      return;
    }

    let tries = 0;
    let changedMs = 0;
    const execution = fixture.start('echo ran');
    const beganMs = performance.now();
    await until('two seconds', () => {
      const { mtimeMs } = statSync(keepers);
      if (mtimeMs !== changedMs) tries += 1;
      changedMs = mtimeMs;
      return performance.now() > beganMs + 2_000;
    });
    descriptors.giveBack();

    t.true(tries <= 4, `${tries} tries`);
    t.like(await fixture.result(execution), { outcome: 'completed', exitCode: 0, output: 'ran\n' });
  },
);

for (let free = 0; free <= 6; free += 1)
  test.serial(
    `with ${free} free file descriptors a start is made or leaves nothing, and all are made in the end`,
    async (t) => {
      const fixture = new Fixture(t);
      const keepers = join(fixture.directory, 'keepers');
      const descriptors = takeDescriptors(t, free);
      if (descriptors === null) {
        t.pass('not tried: there is no prlimit here');
        return;
      }

      const executions = [fixture.start('echo ran'), fixture.start('echo ran')];
      descriptors.giveBack();
      const { waiting } = fixture.journal.counts();
      const made = readdirSync(keepers);

      t.is(made.length, executions.length - waiting);
      for (const execution of executions)
        t.like(await fixture.result(execution), { outcome: 'completed', exitCode: 0, output: 'ran\n' });
    },
  );
