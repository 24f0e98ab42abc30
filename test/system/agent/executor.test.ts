/** How a script runs, ends and is ended, and what is kept of its output (C9, C10). */
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { CUT_MARKER } from '../../../agent/execution/output/output-limit.ts';
import { listProcesses } from '../../../agent/execution/processes.ts';
import { until } from '../../support/until.ts';
import { Fixture } from '../../support/agent/executor-fixture.ts';
import { delivery } from '../../support/agent/session-fixture.ts';

/** Processes whose command line has `word` in it. */
function processesWith(word: string): number[] {
  return listProcesses()
    .map((entry) => entry.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(word);
      } catch {
        return false;
      }
    });
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

  t.deepEqual(
    results.map((result) => result.exitCode),
    codes,
  );
});

test.serial('a script killed by a signal reports 128 and its number', async (t) => {
  const fixture = new Fixture(t);

  const results = await Promise.all(
    ['TERM', 'KILL', 'INT', 'HUP', 'SEGV', 'PIPE', 'USR1'].map((name) =>
      fixture.run(`echo before; kill -${name} $$; sleep 5`),
    ),
  );

  t.deepEqual(
    results.map((result) => result.exitCode),
    [143, 137, 130, 129, 139, 141, 138],
  );
  t.true(results.every((result) => result.outcome === 'completed' && result.output === 'before\n'));
});

test.serial('a script that kills its whole process group is over, by that signal', async (t) => {
  const fixture = new Fixture(t);

  t.like(await fixture.run('kill -9 0; sleep 5'), { outcome: 'completed', exitCode: 137 });
  t.like(await fixture.run('kill -TERM 0; sleep 5'), { outcome: 'completed', exitCode: 143 });
});

test.serial('writing to /dev/stderr and /dev/stdout by name adds to the output and wipes nothing', async (t) => {
  const fixture = new Fixture(t);

  t.is(
    (await fixture.run('echo one; echo two >/dev/stderr; echo three >/dev/stdout; echo four')).output,
    'one\ntwo\nthree\nfour\n',
  );
});

test.serial('the interpreter of the #! line runs the script, with its argument', async (t) => {
  const fixture = new Fixture(t);

  t.is((await fixture.run('#!/usr/bin/env python3\nimport sys\nprint("py", sys.version_info[0])')).output, 'py 3\n');
  t.is((await fixture.run('#!/bin/sh -e\nfalse\necho not here')).output, '');
  t.is((await fixture.run('#! /bin/sh -e x\r\necho one argument')).exitCode, 2);
  t.is((await fixture.run('#!/bin/sh\r\nprintf crlf; exit 0 #\r\n')).output, 'crlf');
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

test.serial('a script of 128 KiB runs', async (t) => {
  const fixture = new Fixture(t);

  t.is((await fixture.run(`${'#'.repeat(131_072 - 9)}\necho end`)).output, 'end\n');
});

test.serial('invalid UTF-8 and NUL are replaced, a missing last newline stays missing', async (t) => {
  const fixture = new Fixture(t);

  t.is((await fixture.run("printf 'a\\377b\\000c\\303\\251'")).output, 'a\uFFFDb\uFFFDcé');
});

test.serial('an output over the limit keeps its first and last halves exactly, and says so', async (t) => {
  const fixture = new Fixture(t, { outputBytesMax: 10_000 });
  const half = Math.floor((10_000 - CUT_MARKER.length) / 2);
  const whole = Array.from({ length: 20_000 }, (_, index) => `${index}\n`).join('');

  const result = await fixture.run('i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done');

  t.true(result.outputTruncated);
  t.is(result.output, whole.slice(0, half) + CUT_MARKER + whole.slice(-half));
});

test.serial('an output at the limit is whole, and one byte more is cut', async (t) => {
  const fixture = new Fixture(t, { outputBytesMax: 4_096 });

  t.like(await fixture.run('head -c 4096 /dev/zero | tr "\\0" x'), { outputTruncated: false, outputBytes: 4_096 });
  // two equal halves and the marker
  t.like(await fixture.run('head -c 4097 /dev/zero | tr "\\0" x'), { outputTruncated: true, outputBytes: 4_095 });
});

test.serial('an output of many files of the ring keeps its ends, whatever its length', async (t) => {
  const fixture = new Fixture(t, { outputBytesMax: 100_000 });
  const half = Math.floor((100_000 - CUT_MARKER.length) / 2);
  for (const mebibytes of [5, 13, 40]) {
    const result = await fixture.run(`seq 1 100000000 | head -c ${mebibytes * 1_048_576 - 3}; echo; echo last`);

    t.true(result.outputTruncated);
    t.true(result.output.startsWith('1\n2\n3\n'), String(mebibytes));
    t.true(result.output.endsWith('\nlast\n'), String(mebibytes));
    const lines = result.output
      .slice(half + CUT_MARKER.length)
      .split('\n')
      .slice(1, -3)
      .map(Number);
    t.true(
      lines.every((line, index) => index === 0 || line === (lines[index - 1] ?? 0) + 1),
      'no line is missing in the last half',
    );
    t.is(result.outputBytes, 2 * half + CUT_MARKER.length);
  }
});

test.serial('a process that writes gigabytes costs a bounded amount of disk', async (t) => {
  const fixture = new Fixture(t);
  const execution = fixture.start('yes 0123456789', { timeout_ms: 1_500 });
  let most = 0;
  const look = setInterval(() => {
    for (const shim of readdirSync(join(fixture.directory, 'keepers'))) {
      const directory = join(fixture.directory, 'keepers', shim);
      const sizes = readdirSync(directory).map(
        (file) => statSync(join(directory, file), { throwIfNoEntry: false })?.size ?? 0,
      );
      most = Math.max(
        most,
        sizes.reduce((sum, size) => sum + size, 0),
      );
    }
  }, 20);

  const result = await fixture.result(execution);

  clearInterval(look);
  t.like(result, { outcome: 'completed', exitCode: 124, outputTruncated: true });
  t.true(most < 16 * 1_048_576, `${most} bytes at most`);
});

test.serial('a timeout ends the group, and the output up to then is kept', async (t) => {
  const fixture = new Fixture(t);

  const result = await fixture.run('echo begun; sleep 100 & sleep 100', { timeout_ms: 300 });

  t.like(result, { outcome: 'completed', exitCode: 124, output: 'begun\n' });
});

test.serial(
  'a cancel reports 143 once nothing of the execution lives, children that ignore TERM, left the session or dropped their environment included',
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
    await until('all processes', () => processesWith(mark).length >= 6);

    fixture.executor.cancel([execution]);
    const result = await fixture.result(execution);

    t.deepEqual(processesWith(mark), []);
    t.like(result, { outcome: 'cancelled', exitCode: 143, output: 'ready\n' });
  },
);

test.serial('what a script prints when it is asked to end is kept', async (t) => {
  const fixture = new Fixture(t);
  const execution = fixture.start('trap "echo bye; exit 0" TERM; echo hi; while :; do sleep 0.05; done');
  const seen: string[] = [];
  const cursor = fixture.executor.tail(execution, 0, () => {
    seen.push(cursor?.read(1_000)?.text ?? '');
  });
  await until('its output', () => seen.join('').includes('hi'));

  fixture.executor.cancel([execution]);

  const result = await fixture.result(execution);
  t.like(result, { outcome: 'cancelled', exitCode: 143 });
  // the shell says so of its sleep, which got the signal as well
  t.regex(result.output, /^hi\n(?:Terminated\n)?bye\n$/);
});

test.serial('a fork bomb is ended', async (t) => {
  const fixture = new Fixture(t);
  const mark = `8${process.pid}${Date.now() % 100_000}`;
  const endsAt = Math.floor(Date.now() / 1_000) + 20; // a bomb that nobody ends burns out
  // Each process leaves the session and starts two more as long as fewer than 60 live; they respawn when killed one by
  // one.
  const bomb = `trap "" TERM; while [ $(date +%s) -lt ${endsAt} ]; do if [ $(pgrep -fc ${mark}) -lt 60 ]; then setsid sh "$0" ${mark} & setsid sh "$0" ${mark} & fi; sleep 0.1; done`;

  const result = await fixture.run(bomb, { timeout_ms: 1_000 });

  t.is(result.exitCode, 124);
  t.deepEqual(processesWith(mark), []);
});

test.serial('a daemon left behind does not hold up the result, lives on, and may go on writing', async (t) => {
  const fixture = new Fixture(t);

  const result = await fixture.run('(sleep 4; echo late; echo alive) & echo "$!"');

  t.like(result, { outcome: 'completed', exitCode: 0, outputTruncated: false });
  const daemon = Number(result.output);
  t.deepEqual(listProcesses().filter((entry) => entry.pid === daemon).length, 1);
  process.kill(daemon, 'SIGKILL');
});

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

  await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      fixture.run(`echo start ${index} >>${ledger}; sleep 0.1; echo end ${index} >>${ledger}`),
    ),
  );

  let live = 0;
  let most = 0;
  const starts: number[] = [];
  for (const [word, index] of readFileSync(ledger, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' '))) {
    live += word === 'start' ? 1 : -1;
    most = Math.max(most, live);
    if (word === 'start') starts.push(Number(index));
  }
  t.is(most, 2);
  t.true(
    starts.every((index, at) => Math.abs(index - at) <= 1),
    starts.join(' '),
  ); // two that start together may write in either order
});

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
      () => processesWith(running).length > 0 || readdirSync(join(fixture.directory, 'keepers')).length > 0,
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
  t.deepEqual(
    fixture.journal.started().map(({ execution }) => execution),
    left,
  );
});

test.serial('what is settled after an executor has let go stays for the next one, which ends it', async (t) => {
  const before = new Fixture(t);
  const word = `86${process.pid}`;
  const left = before.start(`sleep ${word}`);
  await until('it to run', () => processesWith(word).length > 0);
  before.executor.detach();

  before.executor.settle([left]);

  t.deepEqual(
    before.journal.started().map(({ execution }) => execution),
    [left],
  );
  before.journal.close();
  const after = new Fixture(t, {}, before.directory);
  after.executor.recover();
  after.executor.settle([left]);
  await until('it to be gone', () => after.journal.holding().length === 0);
  t.deepEqual(processesWith(word), []);
});
