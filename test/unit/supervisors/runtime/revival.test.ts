/** When an actor that crashed starts again, and from which rows one starts that is not here (C3, O1). */
import test from 'ava';
import { createHeldLeases } from '../../../../supervisors/ownership/held.ts';
import type { ActorCell } from '../../../../supervisors/runtime/actor-cell.ts';
import {
  CRASHES_MAX,
  decideRestart,
  ESCALATE_WINDOW_MS,
  REST_MS,
  Revival,
} from '../../../../supervisors/runtime/revival.ts';
import { systemClock } from '../../../../transport/net/clock.ts';
import { silentLog } from '../../../support/log.ts';
import type { ClusterId } from '../../../../transport/protocol/ids.ts';

const CLUSTER = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01' as ClusterId;

test('crashes wait twice as long each time, and those of more than a minute ago are forgotten', (t) => {
  let earlier: readonly number[] = [];
  const waits = [];
  for (let crash = 0; crash < CRASHES_MAX - 1; crash += 1) {
    const decision = decideRestart(earlier, 1_000 + crash);
    earlier = decision.crashesMs;
    waits.push(decision.afterMs);
  }

  t.deepEqual(waits, [20, 40, 80, 160]);
  t.deepEqual(decideRestart(earlier, 1_010), { afterMs: REST_MS, escalated: true, crashesMs: [] });
  t.deepEqual(decideRestart(earlier, 1_003 + ESCALATE_WINDOW_MS), {
    afterMs: 20,
    escalated: false,
    crashesMs: [1_003 + ESCALATE_WINDOW_MS],
  });
});

test('rows that were read before its lease was gained are read again: the owner of before may have written since', async (t) => {
  const held = createHeldLeases(3_000, () => 0);
  const rows = ['of another owner', 'of now'];
  const started: unknown[] = [];
  const cell = {
    address: { kind: 'node', id: 'node' },
    kind: { cluster: () => CLUSTER },
    mailbox: { some: () => false },
    async reload() {
      if (rows.length === 2) held.hold(CLUSTER, 2, 0); // the claim is answered while this reading is under way
      return Promise.resolve(rows.shift());
    },
  } as unknown as ActorCell;
  const revival = new Revival({
    held,
    clock: systemClock,
    committer: { ready: async () => Promise.resolve() },
    log: silentLog,
    orphans: { leaseTemporarily: async () => Promise.resolve(false), refusal: () => null },
    isVacant: () => true,
    start: (_cell, state) => started.push(state),
    leave: () => t.fail('it is ours'),
  });

  await revival.revive(cell);

  t.deepEqual(started, ['of now']);
});
