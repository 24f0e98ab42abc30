/** What health says of the certificate that an admin shows. */
import test from 'ava';
import { runChecks } from '../../../../api/health/check-runner.ts';
import { CERTIFICATE_LEFT_MS_MIN } from '../../../../api/health/own-problems.ts';
import { subsystems } from '../../../../api/health/subsystems.ts';
import { wellPorts } from '../../../support/observability/health-ports.ts';

const DAY_MS = 86_400_000;

const said = async (leftMs: number, isRefused: boolean) =>
  (await runChecks(subsystems(wellPorts({ certificate: () => ({ leftMs, isRefused }) })))).find(
    ({ name }) => name === 'tls_certificate',
  );

test('a certificate that ends, or could not be replaced, is told of and takes no admin out of service', async (t) => {
  const refused = 'the files hold another pair that cannot be used: the log says why';
  const cases = [
    [CERTIFICATE_LEFT_MS_MIN + 1, false, null],
    [CERTIFICATE_LEFT_MS_MIN, false, 'the certificate expires in 14 days'],
    [DAY_MS / 2, true, `the certificate expires in 0 days; ${refused}`],
    [0, false, 'the certificate has expired: nobody who checks it comes in'],
    [20 * DAY_MS, true, refused],
  ] as const;

  for (const [leftMs, isRefused, error] of cases) t.like(await said(leftMs, isRefused), { healthy: true, error });
});
