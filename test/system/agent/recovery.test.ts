/** What an agent finds when it comes back, put there by hand. */
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { SCRIPT_DIRECTORY, SHIM_FILES, SHIM_SCRIPT } from '../../../agent/execution/exec-shim/exec-shim-script.ts';
import type { ExecutorOptions } from '../../../agent/execution/executor-options.ts';
import { readProcess } from '../../../agent/execution/processes.ts';
import { machineTimeline } from '../../../agent/execution/timeline.ts';
import { Fixture } from '../../support/agent/executor-fixture.ts';
import { ExecutionId } from '../../../transport/protocol/ids.ts';
import { delivery } from '../../support/agent/session-fixture.ts';

const TIMEOUT_MS = 60_000;

/**
 * An execution recorded as started with exec shim `k`, whose directory has a script that would leave a mark. Its id is
 * its own: whoever ends an execution ends all processes that bear its id.
 */
function startedBefore(t: ExecutionContext, options: Partial<ExecutorOptions> = {}) {
  const fixture = new Fixture(t, options);
  const directory = join(fixture.directory, 'keepers/k');
  mkdirSync(join(directory, SCRIPT_DIRECTORY), { recursive: true });
  writeFileSync(join(directory, SHIM_FILES.script), `touch ${fixture.directory}/ran`);
  const execution = ExecutionId.parse(randomUUID());
  fixture.journal.receive([{ ...delivery(1), execution, timeout_ms: TIMEOUT_MS }]);
  fixture.journal.start([{ execution, shim: 'k' }]);
  return { fixture, directory, execution, hasRun: () => existsSync(join(fixture.directory, 'ran')) };
}

/** An exec shim that waits for its job; the answer gives it and resolves when it has ended. */
function waitingShim(directory: string, execution: ExecutionId): () => Promise<unknown> {
  const child = spawn('/bin/sh', ['-c', SHIM_SCRIPT, 'edge-keeper', directory, '1000', '1000'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(child, 'exit');
  child.stdin.on('error', () => {}); // it ended without reading
  return () => {
    child.stdin.end(`${execution}\n/bin/sh\n\n\n`);
    return ended;
  };
}

test('an execution recorded as started that never began is interrupted, and a late exec shim begins nothing', async (t) => {
  const { fixture, directory, execution, hasRun } = startedBefore(t);
  const giveJob = waitingShim(directory, execution);

  fixture.executor.recover();
  await giveJob();

  t.like(await fixture.result(execution), { outcome: 'cancelled', exitCode: 137, output: '' });
  t.false(hasRun());
});

test('an exec shim that came first has its result taken', async (t) => {
  const { fixture, directory, execution, hasRun } = startedBefore(t);
  await waitingShim(directory, execution)();

  fixture.executor.recover();

  t.like(await fixture.result(execution), { outcome: 'completed', exitCode: 0 });
  t.true(hasRun());
});

for (const [noted, wanted] of [
  [null, { outcome: 'cancelled', exitCode: 137 }],
  ['cancel', { outcome: 'cancelled', exitCode: 143 }],
  ['timeout', { outcome: 'completed', exitCode: 124 }],
] as const)
  test(`after a reboot another process with the id in a start lock is left alone, and the output so far is kept${noted === null ? '' : ` (amid a ${noted})`}`, async (t) => {
    const { fixture, directory, execution } = startedBefore(t);
    const stranger = spawn('/bin/sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { detached: true });
    t.teardown(() => process.kill(-(stranger.pid ?? 0), 'SIGKILL'));
    const child = Number(String((await once(stranger.stdout, 'data'))[0]));
    writeFileSync(join(directory, 'claim'), `${stranger.pid} ${execution}\n`);
    writeFileSync(join(directory, 'first'), 'so far');
    if (noted !== null) writeFileSync(join(directory, 'ending'), `${noted}\n`);

    fixture.executor.recover();

    t.like(await fixture.result(execution), { ...wanted, output: 'so far' });
    t.is(stranger.signalCode ?? stranger.exitCode, null);
    t.not(readProcess(child), null);
  });

test('after a reboot the session of a start lock is one whose leader has ended: who is left in it is left alone', async (t) => {
  const { fixture, directory, execution } = startedBefore(t);
  const leader = spawn('/bin/sh', ['-c', 'sleep 60 >/dev/null & echo $!'], { detached: true });
  const daemon = Number(String((await once(leader.stdout, 'data'))[0]));
  t.teardown(() => process.kill(daemon, 'SIGKILL'));
  await once(leader, 'exit');
  writeFileSync(join(directory, 'claim'), `${leader.pid} ${execution}\n`);

  fixture.executor.recover();

  t.like(await fixture.result(execution), { outcome: 'cancelled', exitCode: 137 });
  t.not(readProcess(daemon), null);
});

test('two exec shims of one directory: one begins', async (t) => {
  const { fixture, directory, execution } = startedBefore(t);
  writeFileSync(join(directory, SHIM_FILES.script), `echo ran >>${fixture.directory}/ran`);

  await Promise.all([1, 2, 3].map(() => waitingShim(directory, execution)()));

  t.is(readFileSync(join(fixture.directory, 'ran'), 'utf8'), 'ran\n');
});

test('a status that was being written when the machine went down is none', async (t) => {
  const { fixture, directory, execution } = startedBefore(t);
  writeFileSync(join(directory, 'claim'), `2147480000 ${execution}\n`);
  writeFileSync(join(directory, 'status'), '');

  fixture.executor.recover();

  t.like(await fixture.result(execution), { outcome: 'cancelled', exitCode: 137 });
});

for (const [what, claim] of [
  ['is gone', (execution: ExecutionId) => `2147480000 ${execution}\n`],
  ['left an empty start lock', () => ''],
] as const)
  test(`after a power cut an exec shim that ${what} counts as interrupted, even past its timeout`, async (t) => {
    const timeline = machineTimeline();
    const afterBoot = { ...timeline, bootId: 'the next one', wallMs: () => timeline.wallMs() + 2 * TIMEOUT_MS };
    const { fixture, directory, execution } = startedBefore(t, { timeline: afterBoot });
    writeFileSync(join(directory, 'claim'), claim(execution));
    writeFileSync(join(directory, 'first'), 'so far');

    fixture.executor.recover();

    t.like(await fixture.result(execution), { outcome: 'cancelled', exitCode: 137, output: 'so far' });
  });

/** What a script may put in the place of a file. */
const NO_FILES = {
  directories: (path: string) => mkdirSync(path),
  'named pipes': (path: string) => execFileSync('mkfifo', [path]),
};

for (const [what, make] of Object.entries(NO_FILES))
  test(`a script that made ${what} where its exec shim writes keeps no agent from starting, nor from ending it`, async (t) => {
    const { fixture, directory, execution } = startedBefore(t);
    const { script: _script, startLock, ...others } = SHIM_FILES;
    writeFileSync(join(directory, startLock), `2147480000 ${execution}\n`);
    for (const name of Object.values(others).flat()) make(join(directory, name));

    t.notThrows(() => fixture.executor.recover());
    fixture.executor.cancel([execution]);

    t.like(await fixture.result(execution), { outcome: 'cancelled', exitCode: 137 });
  });
