/**
 * An admin whose clock is a day off: it decides and stores by the database's clock, and says in its health that its own
 * is wrong (O2).
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ExecutionResource } from '../../../actors/resources/command.ts';
import type { SubsystemCheck } from '../../../api/views/health.ts';
import { scaled } from '../../support/busy.ts';
import { startFleet } from '../../support/fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('faketime');

const HOUR_MS = 3_600_000;

/** What is stored in this test is stored within this of the test's own clock, which is the database's. In ms. */
const NOW_MS_MAX = HOUR_MS;

for (const offset of ['+1d', '-1d']) {
  test(`an admin whose clock is off by ${offset} takes, sends and expires by the database's clock, and is unhealthy`, async (t) => {
    const { stdout: library } = await promisify(execFile)('faketime', ['-f', '+0', 'sh', '-c', 'echo "$LD_PRELOAD"']);
    const fleet = await startFleet(t, {
      agents: 1,
      env: { LD_PRELOAD: library.trim(), FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' },
    });
    const away = await fleet.addAgent();
    await away.live();
    await fleet.reaches(away, 'healthy');
    away.program.kill();
    await away.program.ended();

    // Refused by one who is a day ahead, since that would be in the past.
    const open = await fleet.run('echo ran', { expired_at: new Date(Date.now() + HOUR_MS).toISOString() });
    const done = (executions: readonly ExecutionResource[]) => executions.some(({ status }) => status === 'completed');
    await fleet.settled(open, done);
    const due = await fleet.run('echo never', {
      targeting: { type: 'nodes', node_ids: [away.node] },
      expired_at: new Date(Date.now() + scaled(4_000)).toISOString(),
    });
    const [expired] = await fleet.settled(due); // a sweep ran: of what is due later it took nothing

    t.deepEqual((await fleet.executionsOf(open)).map(({ status }) => status).toSorted(), ['completed', 'pending']);
    const stored = await fleet.sql<{
      at: Date;
    }>(`select inserted_at as at from command union all select inserted_at from node union all select inserted_at from cluster union all select time from event
      union all select finished_at from command_execution where finished_at is not null union all select sent_at from command_execution where sent_at is not null union all select last_seen_at from node`);
    t.true(stored.length > 12);
    t.deepEqual(
      stored.filter(({ at }) => Math.abs(at.getTime() - Date.now()) > NOW_MS_MAX),
      [],
    );
    t.is(expired?.status, 'expired');
    const { status, red } = await until('nothing else to be wrong', async () => {
      const response = await fetch(`${fleet.admins[0]?.url}/healthz`);
      const checks = (await response.json()) as readonly SubsystemCheck[];
      const unhealthy = checks.filter(({ healthy }) => !healthy);
      return unhealthy.length === 1 ? { status: response.status, red: unhealthy[0] } : null;
    });
    t.deepEqual(
      [status, red?.name, red?.error?.replace(/\d{5}/u, 'N')],
      [
        503,
        'database_clock',
        `the clock of this machine is N s ${offset.startsWith('+') ? 'ahead of' : 'behind'} the database's: nothing is pruned until they agree`,
      ],
    );
    await t.notThrowsAsync(fleet.rest.get('/nodes'));
  });
}
