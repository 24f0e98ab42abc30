/**
 * A start that was recorded and that the disk had no room for: nothing came of it, so it is taken back, and what ran is
 * never taken for it (C3).
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { ExecutorOptions } from '../../../agent/execution/executor-options.ts';
import { RETRY_MS } from '../../../agent/execution/look-times.ts';
import { aliveMs } from '../../../transport/net/uptime.ts';
import { EXIT_CANCELLED } from '../../../transport/protocol/limits.ts';
import { recordingLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import { Fixture } from '../../support/agent/executor-fixture.ts';
import { fill, smallDisk } from '../../support/small-disk.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test.serial(
  'a disk that fills between a script and its start lock has the execution wait, which runs once there is room',
  async (t) => {
    const disk = smallDisk(t, 4_096);
    if (disk === null) {
      t.pass('not tried: this user cannot mount a disk');
      return;
    }
    const ran = join(temporaryDirectory(t), 'ran');
    const held = Promise.withResolvers<void>();
    const fixture = new Fixture(t, { onHeld: held.resolve }, disk);
    const { journal, executor } = fixture;
    const receive = journal.receive.bind(journal);
    let free = () => {};
    journal.receive = (...given) => {
      const received = receive(...given); // its start is recorded, its script is written
      free = fill(disk);
      return received;
    };
    let output = '';
    const execution = fixture.start(`echo ran >>${ran}; echo out`);
    const cursor = executor.tail(execution, 0, () => {});

    await held.promise;
    t.deepEqual([journal.waiting(), journal.started(), [...executor.held().keys()]], [[execution], [], [execution]]);
    t.deepEqual([existsSync(ran), readdirSync(join(disk, 'keepers'))], [false, []]);
    t.false(cursor?.ended, 'who follows its output waits as well');
    free();
    executor.release([{ execution, expiresInMs: null }], aliveMs());

    t.like(await fixture.result(execution), { outcome: 'completed', exitCode: 0, output: 'out\n' });
    for (let piece = cursor?.read(100); piece != null; piece = cursor?.read(100)) output += piece.text;
    t.is(output, 'out\n');
    t.is(readFileSync(ran, 'utf8'), 'ran\n');
  },
);

/** An executor whose exec shims make no start lock until `allow` is called; and when each of their jobs was given. */
function withoutStartLocks(t: ExecutionContext, options: Partial<ExecutorOptions> = {}) {
  const fixture = new Fixture(t, options);
  const { journal, directory } = fixture;
  const [receive, start] = [journal.receive.bind(journal), journal.start.bind(journal)];
  const startsMs: number[] = [];
  let isForbidden = true;
  const keepers = join(directory, 'keepers');
  const begins = () => {
    startsMs.push(performance.now());
    for (const shim of isForbidden ? readdirSync(keepers) : []) writeFileSync(join(keepers, shim, 'claim'), '');
  };
  journal.receive = (...given) => {
    const received = receive(...given); // its start is recorded, and its exec shim has no job yet
    begins();
    return received;
  };
  journal.start = (...given) => {
    const isRecorded = start(...given);
    begins();
    return isRecorded;
  };
  return { fixture, startsMs, allow: () => (isForbidden = false) };
}

test.serial(
  'a start lock that cannot be made is said once, until one is, and tried at growing intervals',
  async (t) => {
    const log = recordingLog();
    const problems: (string | null)[] = [];
    const { fixture, startsMs, allow } = withoutStartLocks(t, {
      log,
      onHeld: () => {
        const { executor } = fixture;
        problems.push(executor.service.problem());
        if (problems.length === 2) allow();
        setImmediate(() => {
          const open = [...executor.held().keys()].map((one) => ({ execution: one, expiresInMs: null }));
          executor.release(open, aliveMs());
        });
      },
    });

    const result = await fixture.run('echo out');

    t.like(result, { outcome: 'completed', exitCode: 0, output: 'out\n' });
    t.is(problems.length, 2, 'it was tried in vain as often');
    for (const problem of problems)
      t.is(problem, 'commands cannot be started: an exec shim could not make its start lock');
    const [firstMs = 0, secondMs = 0, thirdMs = 0] = startsMs;
    t.true(secondMs - firstMs >= RETRY_MS - 1, `tried again after ${secondMs - firstMs} ms`);
    t.true(thirdMs - secondMs >= 2 * RETRY_MS - 1, `and again after ${thirdMs - secondMs} ms`);
    t.is(fixture.executor.service.problem(), null);
    t.deepEqual(
      log.lines.filter(({ level }) => level !== 'debug').map(({ message }) => message),
      [
        'Commands cannot be started: an exec shim could not make its start lock. They wait until they can',
        'Commands can be started again',
      ],
    );
  },
);

test.serial('a cancel ends an execution that got no start lock and is not taken back yet', async (t) => {
  const { fixture } = withoutStartLocks(t);
  const { journal, executor } = fixture;
  journal.withdraw = () => false; // as on a full disk
  const execution = fixture.start('echo ran');
  await until('no start lock', () => executor.service.problem() !== null);

  executor.cancel([execution]);

  t.like(await fixture.result(execution), { outcome: 'cancelled', exitCode: EXIT_CANCELLED });
  await until('that all is well', () => executor.service.problem() === null);
});

test.serial('what got no start lock within its timeout never ran: it waits, and did not time out', async (t) => {
  const held = Promise.withResolvers<void>();
  const { fixture } = withoutStartLocks(t, { onHeld: held.resolve });

  const execution = fixture.start('echo ran', { timeout_ms: 1 });
  await held.promise;

  t.deepEqual([fixture.journal.waiting(), fixture.journal.result(execution)], [[execution], null]);
});

for (const [how, rest, told] of [
  ['kills its group as its exec shim would end itself', 'kill -s VTALRM 0', { outcome: 'completed', exitCode: 154 }],
  [
    'empties its start lock, and whose exec shim is killed',
    ': >"${0%/*}/../claim"; kill -s KILL 0',
    { outcome: 'completed', exitCode: 137 },
  ],
  [
    'empties its start lock, and whose status is lost',
    ': >"${0%/*}/../claim"; mkdir "${0%/*}/../status"; rm "${0%/*}/../claim"',
    { outcome: 'cancelled', exitCode: 137 },
  ],
] as const)
  test.serial(`a script that ${how} has started, and is not started again`, async (t) => {
    const fixture = new Fixture(t);
    const ran = join(fixture.directory, 'ran');

    const result = await fixture.run(`echo ran >>${ran}; ${rest}`);

    t.like(result, told);
    t.deepEqual([fixture.journal.waiting(), readFileSync(ran, 'utf8')], [[], 'ran\n']);
  });
