/**
 * Files that a script leaves beside itself, by the names of those that its exec shim has: they are its own, and nothing
 * of how it ends and what it wrote is told by them.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { SHIM_FILES, SHIM_MARK, SHIM_SCRIPT } from '../../../agent/execution/exec-shim/exec-shim-script.ts';
import { readStartLock } from '../../../agent/execution/exec-shim/start-lock.ts';
import { machineTimeline } from '../../../agent/execution/timeline.ts';
import { ExecutionId } from '../../../transport/protocol/ids.ts';
import { Fixture } from '../../support/agent/executor-fixture.ts';
import { delivery } from '../../support/agent/session-fixture.ts';
import { until } from '../../support/until.ts';

/** Far beyond all that an executor waits for before it takes something for granted, in ms. */
const LONG_MS = 60_000;

/** Looks at an execution between two steps: what is not taken for granted by then is not at all. */
const LOOKS = 4;

/** A machine whose time goes on at will; `looked` resolves when all that runs was looked at some times, long after. */
function patientMachine() {
  const timeline = machineTimeline();
  let laterMs = 0;
  let asked = 0;
  const monotonicMs = () => {
    asked += 1;
    return timeline.monotonicMs() + laterMs;
  };
  return {
    timeline: { ...timeline, monotonicMs },
    looked: async (fixture: Fixture, executions: readonly ExecutionId[]) => {
      const isOver = () => executions.every((execution) => fixture.journal.result(execution) !== null);
      for (let step = 0; step < 3; step += 1) {
        const before = asked;
        await until('some looks', () => isOver() || asked > before + LOOKS * 2 * executions.length);
        laterMs += LONG_MS;
      }
    },
  };
}

/** What a script does to the directory that it is in, all of which it may. */
const LEAVINGS = [
  'echo 404 >status',
  'echo 200 >status',
  'mkdir status',
  'echo 1 >status; chmod 400 status',
  'echo mine >claim',
  'rm -f claim',
  'echo cancel >ending',
  'echo mine >first',
  'rm -f first',
  'echo "1 4" >segment; echo mine >ring.1',
  'touch cut',
  ': >whole',
  'rm -rf "$(dirname "$0")"',
];

for (const isUpdated of [false, true])
  test(`whatever a script does to the files beside it, exit code and output stay its own${isUpdated ? ', also for the next agent' : ''}`, async (t) => {
    const machine = patientMachine();
    const options = { timeline: machine.timeline, concurrency: LEAVINGS.length };
    const former = new Fixture(t, options);
    const { directory } = former;
    const go = join(directory, 'go');
    const executions = LEAVINGS.map((leaving, index) =>
      former.start(
        `cd "$(dirname "$0")"; echo before; ${leaving}
        touch ${directory}/ready-${index}; until [ -e ${go} ]; do sleep 0.1; done; echo after; exit 3`,
      ),
    );
    await until('what they leave', () => LEAVINGS.every((_, index) => existsSync(join(directory, `ready-${index}`))));
    if (isUpdated) {
      former.executor.detach();
      former.journal.close();
    }
    const fixture = isUpdated ? new Fixture(t, options, directory) : former;
    if (isUpdated) fixture.executor.recover();

    await machine.looked(fixture, executions);
    writeFileSync(go, '');

    const results = await Promise.all(executions.map((execution) => fixture.result(execution)));
    t.deepEqual(
      results.map(({ outputBytes: _bytes, ...result }, index) => [LEAVINGS[index], result]),
      LEAVINGS.map((leaving) => [
        leaving,
        { outcome: 'completed', exitCode: 3, outputTruncated: false, output: 'before\nafter\n' },
      ]),
    );
    await until('their directories are gone', () => readdirSync(join(directory, 'keepers')).length <= 1);
  });

/** An execution of an agent of before, whose exec shim has its files where the script is, taken up by one of today. */
async function takenUp(t: ExecutionContext, commandText: (go: string) => string) {
  const machine = patientMachine();
  const fixture = new Fixture(t, { timeline: machine.timeline });
  const [directory, go] = [join(fixture.directory, 'keepers/k'), join(fixture.directory, 'go')];
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'script'), commandText(go));
  const execution = ExecutionId.parse(randomUUID());
  fixture.journal.receive([{ ...delivery(1), execution }]);
  fixture.journal.start([{ execution, shim: 'k' }]);
  const shim = spawn(
    '/bin/sh',
    ['-c', SHIM_SCRIPT.replace(SHIM_FILES.script, 'script'), 'edge-keeper', directory, '1000', '1000'],
    {
      detached: true,
      env: { PATH: process.env['PATH'], [SHIM_MARK]: 'k' },
      stdio: ['pipe', 'ignore', 'ignore'],
    },
  );
  shim.stdin.end(`${execution}\n/bin/sh\n\n\n`);
  await until('what it leaves', () => existsSync(join(directory, 'ready')));
  t.is(readStartLock(directory)?.pid, shim.pid);
  fixture.executor.recover();
  return { fixture, execution, machine, goOn: () => writeFileSync(go, '') };
}

const ofBefore = (status: number, end: string) => (go: string) =>
  `cd "$(dirname "$0")"; echo ${status} >status; echo before; touch ready
  until [ -e ${go} ]; do sleep 0.1; done; echo after; ${end}`;

for (const status of [200, 404])
  test(`a script of an agent of before that writes ${status} where its exec shim writes the status ends as it ends`, async (t) => {
    const { fixture, execution, machine, goOn } = await takenUp(t, ofBefore(status, 'exit 3'));

    await machine.looked(fixture, [execution]);
    goOn();

    t.like(await fixture.result(execution), { outcome: 'completed', exitCode: 3, output: 'before\nafter\n' });
  });

test('one that leaves a daemon which holds its output is over when it ends all the same', async (t) => {
  const { fixture, execution, goOn } = await takenUp(t, ofBefore(200, 'sleep 1000 & echo $!; exit 3'));

  goOn();

  const { output, ...result } = await fixture.result(execution);
  process.kill(Number(output.split('\n').at(-2)), 'SIGKILL');
  t.like(result, { outcome: 'completed', exitCode: 3 });
});

test('one that is cancelled while it has written a status is ended', async (t) => {
  const { fixture, execution } = await takenUp(t, ofBefore(200, 'exit 3'));

  fixture.executor.cancel([execution]);

  t.like(await fixture.result(execution), { outcome: 'cancelled', exitCode: 143 });
});
