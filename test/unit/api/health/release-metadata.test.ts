import test from 'ava';
import { runChecks } from '../../../../api/health/check-runner.ts';
import { subsystems } from '../../../../api/health/subsystems.ts';
import { wellPorts } from '../../../support/observability/health-ports.ts';

const DAY_MS = 86_400_000;

test('releases that run out are told a week before, and never take an admin out of service', async (t) => {
  const told = async (leftMs: number) => {
    const checks = await runChecks(subsystems(wellPorts({ releasesLeftMs: async () => leftMs })));
    const { healthy, error } = checks.find(({ name }) => name === 'release_metadata') ?? {};
    return [healthy, error];
  };

  t.deepEqual(await told(8 * DAY_MS), [true, null]);
  t.deepEqual(await told(6.5 * DAY_MS), [true, 'what is published of releases runs out in 6 days']);
  t.deepEqual(await told(-1), [true, 'what is published of releases has run out: machines do not update']);
});
