/** How a script runs, ends and is ended (C9). */
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { listProcesses } from '../../../agent/execution/processes.ts';
import type { Service } from '../../../agent/observability/health.ts';
import { HEALTH_WRITE_MS, HealthFile } from '../../../agent/update/health-file.ts';
import { readHealth, type Health } from '../../../agent/updater/health.ts';
import { beginWatching, judge, LIMIT_MS } from '../../../agent/updater/watch.ts';
import { scaled } from '../../support/busy.ts';
import { Fixture, processesNamed } from '../../support/agent/executor-fixture.ts';
import { NOBODY } from '../../support/agent/sftp-process.ts';
import { recordingLog } from '../../support/log.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { column } from '../../support/database/columns.ts';

/** Neither root nor NOBODY: this user may end nothing of either. */
const STRANGER = 1;

/** What an agent with this service says of itself, connected to an admin that answers. */
function healthOf(t: ExecutionContext, service: Service): Health {
  const path = join(temporaryDirectory(t), 'health.json');
  const file = new HealthFile({
    path,
    version: '0.2.0',
    services: () => [service],
    session: () => ({ isLive: true, heardMs: performance.now() }),
    welcomes: () => 1,
    nowMs: () => performance.now(),
    log: recordingLog(),
  });
  file.look();
  const { health } = readHealth(path);
  if (health === null) throw new Error('it cannot be read');
  return health;
}

/** What an updater makes of an agent that says this for as long as it looks, and of which it knew no problem before. */
function judgedBy(health: Health): string {
  let watching = beginWatching(0);
  for (let nowMs = 1; nowMs <= LIMIT_MS; nowMs += HEALTH_WRITE_MS) {
    const look = { nowMs, health, writtenMs: nowMs, starts: 1, isReachable: true };
    const judged = judge(watching, look, { version: health.version, problems: [] });
    if (judged.verdict.verdict === 'bad') return judged.verdict.reason;
    if (judged.verdict.verdict === 'good') return 'good';
    ({ watching } = judged);
  }
  return 'no verdict';
}

test.serial('a script gives its exit status and both of its streams in the order of writing', async (t) => {
  const fixture = new Fixture(t);

  const result = await fixture.run('echo 1; echo 2 >&2; printf 3; exit 7');

  t.deepEqual(result, { outcome: 'completed', exitCode: 7, outputTruncated: false, outputBytes: 5, output: '1\n2\n3' });
});

test.serial('every exit status from 0 to 255 comes back as it was', async (t) => {
  const fixture = new Fixture(t, { concurrency: 8 });
  const codes = Array.from({ length: 256 }, (_, code) => code);

  const results = await Promise.all(codes.map((code) => fixture.run(`exit ${code}`)));

  t.deepEqual(column(results, 'exitCode'), codes);
});

test.serial('a script killed by a signal reports 128 and its number', async (t) => {
  const fixture = new Fixture(t);

  const results = await Promise.all(
    ['TERM', 'KILL', 'INT', 'HUP', 'SEGV', 'PIPE', 'USR1'].map((name) =>
      fixture.run(`echo before; kill -${name} $$; sleep 5`),
    ),
  );

  t.deepEqual(column(results, 'exitCode'), [143, 137, 130, 129, 139, 141, 138]);
  t.true(results.every((result) => result.outcome === 'completed' && result.output === 'before\n'));
});

test.serial('a script that kills its whole process group is over, by that signal', async (t) => {
  const fixture = new Fixture(t);

  t.like(await fixture.run('kill -9 0; sleep 5'), { outcome: 'completed', exitCode: 137 });
  t.like(await fixture.run('kill -TERM 0; sleep 5'), { outcome: 'completed', exitCode: 143 });
});

test.serial('the interpreter of the #! line runs the script, with its argument', async (t) => {
  const fixture = new Fixture(t);

  t.is((await fixture.run('#!/usr/bin/env python3\nimport sys\nprint("py", sys.version_info[0])')).output, 'py 3\n');
  t.is((await fixture.run('#!/bin/sh -e\nfalse\necho not here')).output, '');
  t.is((await fixture.run('#! /bin/sh -e x\r\necho one argument')).exitCode, 2);
  t.is((await fixture.run('#!/bin/sh\r\nprintf crlf; exit 0 #\r\n')).output, 'crlf');
});

test.serial('a script of 128 KiB runs', async (t) => {
  t.is((await new Fixture(t).run(`${'#'.repeat(131_072 - 9)}\necho end`)).output, 'end\n');
});

test.serial('a missing interpreter is 127 and one that cannot be run is 126, and the output says so', async (t) => {
  const fixture = new Fixture(t);

  const missing = await fixture.run('#!/no/such/interpreter\nhello');
  const unusable = await fixture.run('#!/etc/passwd\nhello');

  t.is(missing.exitCode, 127);
  t.regex(missing.output, /\/no\/such\/interpreter: not found/);
  t.is(unusable.exitCode, 126);
  t.regex(unusable.output, /\/etc\/passwd: Permission denied/);
});

test.serial('a script sees a clean environment, no stdin, its home, and nothing of the agent', async (t) => {
  process.env['API_SECRET'] = 'canary';
  const fixture = new Fixture(t);

  const execution = fixture.start('env | sort; pwd; cat;  ls -l /proc/$$/fd');
  const { output } = await fixture.result(execution);

  const names = output
    .split('\n')
    .filter((line) => line.includes('='))
    .map((line) => line.split('=')[0]);
  t.deepEqual(names, [
    'EDGE_EXECUTION_ID',
    'EDGE_NODE_ID',
    'HOME',
    'LANG',
    'LOGNAME',
    'PATH',
    'PWD',
    'SHELL',
    'TERM',
    'USER',
  ]);
  t.true(output.includes(`EDGE_EXECUTION_ID=${execution}\nEDGE_NODE_ID=a-node\n`));
  t.true(output.includes(`\n${process.env['HOME']}\n`));
  t.false(output.includes('canary'));
  t.false(output.includes('journal'), 'no file of the agent is open in it');
});

test.serial('a timeout ends the group, and the output up to then is kept', async (t) => {
  const fixture = new Fixture(t);

  const result = await fixture.run('echo begun; sleep 100 & sleep 100', { timeout_ms: scaled(1_000) });

  t.like(result, { outcome: 'completed', exitCode: 124, output: 'begun\n' });
});

test.serial(
  'a cancel reports 143 once all processes are gone, also those that ignore TERM or left session or environment',
  async (t) => {
    const fixture = new Fixture(t);
    const mark = `60.${process.pid}${Date.now() % 100_000}`; // a time to sleep that only this test uses
    const execution = fixture.start(`
    trap '' TERM
    sh -c 'trap "" TERM; sleep ${mark}; sleep ${mark}' &
    setsid sh -c 'trap "" TERM; sleep ${mark}; sleep ${mark}' &
    env -i setsid sh -c 'sleep ${mark}; sleep ${mark}' &
    (setsid sleep ${mark} &)
    echo ready
    sleep ${mark}; sleep ${mark}; sleep ${mark}`);
    await until('all processes', () => processesNamed(mark).length >= 6);

    fixture.executor.cancel([execution]);
    const result = await fixture.result(execution);

    t.deepEqual(processesNamed(mark), []);
    t.like(result, { outcome: 'cancelled', exitCode: 143, output: 'ready\n' });
  },
);

test.serial('what cannot be ended is told, fails no update, and its execution ends once it can', async (t) => {
  if (process.getuid?.() !== 0) {
    t.pass('only root becomes other users');
    return;
  }
  const log = recordingLog();
  const fixture = new Fixture(t, { log });
  const mark = `61.${process.pid}${Date.now() % 100_000}`;
  const script = `import os, signal; os.setuid(${NOBODY.uid}); signal.signal(15, signal.SIG_IGN); os.execvp("sleep", ["sleep", "${mark}"])`;
  const execution = fixture.start(`exec python3 -c '${script}'`);
  const [pid = 0] = await until('the process of another user', () => {
    const found = processesNamed(`sleep\0${mark}`);
    return found.length > 0 ? found : null;
  });
  const { service } = fixture.executor;
  t.deepEqual([service.problem(), service.note?.()], [null, null]);

  fixture.executor.cancel([execution]);
  t.teardown(() => process.seteuid?.(0));
  process.seteuid?.(STRANGER);
  const told = await log.seen(/cannot be ended/u);
  const [problem, note, judged] = [service.problem(), service.note?.(), judgedBy(healthOf(t, service))];
  process.seteuid?.(0);

  t.true((told.fields as { pids: number[] }).pids.includes(pid));
  t.regex(note ?? '', /^executions that cannot be ended: 1; processes that live on after KILL: \d/u);
  t.deepEqual([problem, judged], [null, 'good']);
  t.like(await fixture.result(execution), { outcome: 'cancelled', exitCode: 143 });
  t.deepEqual([processesNamed(mark), service.note?.()], [[], null]);
});

test.serial('a fork bomb is ended', async (t) => {
  const fixture = new Fixture(t);
  const mark = `8${process.pid}${Date.now() % 100_000}`;
  const endsAt = Math.floor(Date.now() / 1_000) + 60; // a bomb that nobody ends burns out
  // A tree of shells, each in a session of its own: whoever of it is killed alone is started again by the one above,
  // with all that was below it. It waits and does not look, so that it takes no processor from the tests beside this
  // one.
  const bomb = `trap "" TERM
depth=\${1:-0}
[ $depth -ge 4 ] && echo a leaf && exec sleep 60 0.${mark}
keep() { while [ $(date +%s) -lt ${endsAt} ]; do setsid sh "$0" $((depth + 1)) ${mark}; done; }
keep & keep & wait`;

  const result = await fixture.run(bomb, { timeout_ms: scaled(1_000) });

  t.is(result.exitCode, 124);
  t.true(result.output.split('a leaf').length > 16, result.output);
  t.true(Date.now() < endsAt * 1_000, 'it was ended, and did not burn out');
  t.deepEqual(processesNamed(mark), []);
});

test.serial('a daemon left behind does not hold up the result, lives on, and may go on writing', async (t) => {
  const fixture = new Fixture(t);

  const result = await fixture.run('while sleep 1; do echo late; done & echo "$!"');

  t.like(result, { outcome: 'completed', exitCode: 0, outputTruncated: false });
  const daemon = Number.parseInt(result.output, 10);
  t.deepEqual(listProcesses().filter((entry) => entry.pid === daemon).length, 1);
  process.kill(daemon, 'SIGKILL');
});
