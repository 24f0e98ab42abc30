/** How long executions wait whose exec shims make no start lock, and until when that is said. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { ExecShims } from '../../../../../agent/execution/exec-shim/exec-shims.ts';
import { RETRY_MS } from '../../../../../agent/execution/look-times.ts';
import { START_LOCK_WAIT_MS_MAX, StartKit } from '../../../../../agent/execution/starts/start-kit.ts';
import { executionId } from '../../../../support/agent/session-fixture.ts';
import { silentLog } from '../../../../support/log.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

/** A kit at the time that is set, and executions that begin at it. */
function kitAt(t: ExecutionContext) {
  const clock = { nowMs: 1_000_000 };
  const kit = new StartKit(null as unknown as ExecShims, silentLog, () => clock.nowMs);
  const begun = (isUnstarted = true) => {
    const [directory, bornMs] = [temporaryDirectory(t), clock.nowMs];
    if (!isUnstarted) writeFileSync(join(directory, 'claim'), '1 x\n');
    clock.nowMs += 5;
    return {
      execution: executionId(1),
      directory,
      isUnstarted,
      get ageMs() {
        return clock.nowMs - bornMs;
      },
    };
  };
  return { clock, kit, begun };
}

test('executions without a start lock wait twice as long each time, up to a limit, and as at first once one had one', (t) => {
  const { clock, kit, begun } = kitAt(t);
  const waitsMs = Array.from({ length: 7 }, () => {
    const [one, beside] = [begun(), begun()];
    const waitMs = kit.withoutStartLock(one);
    t.is(kit.withoutStartLock(beside), waitMs, 'what began beside it says nothing new');
    clock.nowMs += waitMs - 1;
    t.is(kit.withoutStartLock(one), waitMs, 'nor does another look');
    t.false(kit.isDue);
    clock.nowMs += 1;
    t.true(kit.isDue);
    return waitMs;
  });

  kit.looked(begun(false));

  t.deepEqual(
    waitsMs,
    [1, 2, 4, 8, 16, 30, 30].map((s) => s * 1_000),
  );
  t.deepEqual([waitsMs[0], waitsMs[6]], [RETRY_MS, START_LOCK_WAIT_MS_MAX]);
  t.is(kit.problem, null);
  t.is(kit.withoutStartLock(begun()), RETRY_MS);
});

test('what had its start lock before none could be made says nothing, and an idle agent has no problem', (t) => {
  const { kit, begun } = kitAt(t);
  const [before, lost] = [begun(false), begun()];
  kit.withoutStartLock(lost);

  kit.looked(before);
  t.truthy(kit.problem);
  kit.idle([before, lost]);
  t.truthy(kit.problem, 'one is to be taken back');
  kit.idle([before, begun()]);
  t.truthy(kit.problem, 'one is about to find out');
  kit.idle([before]);

  t.is(kit.problem, null);
  t.true(kit.isDue);
});
