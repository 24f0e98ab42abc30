/** How often all processes are listed for an exit status that is there, with a real exec shim's processes. */
import { spawn } from 'node:child_process';
import test, { type ExecutionContext } from 'ava';
import { SHIM_MARK } from '../../../../agent/execution/exec-shim/exec-shim-script.ts';
import { listProcesses, lives, readProcess, scriptWaiter } from '../../../../agent/execution/processes.ts';
import { ScriptWait } from '../../../../agent/execution/script-wait.ts';
import { until } from '../../../support/until.ts';

/** Looks ten times at the shim of this process id: what was seen, and how many listings it took. */
function looked(wait: ScriptWait, shimPid: number) {
  let listings = 0;
  const seen = Array.from({ length: 10 }, () =>
    wait.lasts({ shim: 'k', shimPid }, () => {
      listings += 1;
      return listProcesses();
    }),
  );
  return { seen: [...new Set(seen)], listings };
}

/** A shell that waits as an exec shim does, for what ends with its stdin. */
function startShim(t: ExecutionContext) {
  const shim = spawn('/bin/sh', ['-c', '(cat; exit 3) | cat >/dev/null; read -r line <&3'], {
    env: { PATH: process.env['PATH'], [SHIM_MARK]: 'k' },
    stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
  });
  t.teardown(() => shim.kill('SIGKILL'));
  return shim;
}

test('all processes are listed once for a script that is waited for behind a status, and not again when it ended', async (t) => {
  const shim = startShim(t);
  const shimPid = shim.pid ?? 0;
  const waiter = await until('who waits', () => scriptWaiter({ shim: 'k', shimPid }, listProcesses()));
  const wait = new ScriptWait();
  t.false(
    wait.lasts({ shim: 'k', shimPid }, () => []),
    'by a listing that is older',
  );

  const before = looked(wait, shimPid);
  shim.stdin?.end();
  await until('its end', () => !lives(waiter));
  const after = looked(wait, shimPid);

  t.deepEqual(
    [before, after],
    [
      { seen: [true], listings: 1 },
      { seen: [false], listings: 0 },
    ],
  );
  t.not(readProcess(shimPid), null, 'the exec shim lives on');
  t.deepEqual(looked(new ScriptWait(), shimPid), { seen: [false], listings: 2 });
});
