/** What an admin says of its relay and its broker: as a check, and for all admins to read. */
import test from 'ava';
import { runChecks } from '../../../../api/health/check-runner.ts';
import { CERTIFICATE_LEFT_MS_MIN, ownProblems } from '../../../../api/health/own-problems.ts';
import type { RelayState } from '../../../../api/health/ports.ts';
import { subsystems } from '../../../../api/health/subsystems.ts';
import { wellPorts } from '../../../support/observability/health-ports.ts';

const DAY_MS = 86_400_000;
const WELL = { isListening: true, certificateLeftMs: null, isMapped: true };

/** The check, and what its row tells. */
async function said(state: Partial<RelayState>) {
  const ports = wellPorts({ relay: () => ({ own: WELL, isMapMissing: false, ...state }) });
  const check = (await runChecks(subsystems(ports))).find(({ name }) => name === 'relay');
  return [check?.healthy, check?.error, ownProblems(ports).find((one) => one.check === 'relay')?.problem];
}

test('a relay that does not listen is red; an admin without one has nothing to check', async (t) => {
  t.deepEqual(await said({}), [true, null, undefined]);
  t.deepEqual(await said({ own: null }), [true, 'does not apply: this admin has no relay', undefined]);
  const silent = 'the relay does not listen';
  t.deepEqual(await said({ own: { ...WELL, isListening: false } }), [false, silent, silent]);
});

test('of a certificate that ends, and of maps that do not lead there, a note is told: it works on', async (t) => {
  const ends = (certificateLeftMs: number) => said({ own: { ...WELL, certificateLeftMs } });
  const expired = 'the certificate of the relay has expired: members that check it do not come in';
  const soon = 'the certificate of the relay expires in 13 days: the relay takes up another one when this admin starts';
  const unmapped = 'the map of relays does not name this one: agents do not find it';
  const missing = 'no URL of the relay map gives one here';

  t.deepEqual(await ends(0), [true, expired, expired]);
  t.deepEqual(await ends(14 * DAY_MS - 1), [true, soon, soon]);
  t.deepEqual(await ends(CERTIFICATE_LEFT_MS_MIN + 1), [true, null, undefined]);
  t.deepEqual(await said({ own: { ...WELL, isMapped: false } }), [true, unmapped, unmapped]);
  t.deepEqual(await said({ own: null, isMapMissing: true }), [true, missing, missing]);
});

test('a broker is told of by whoever publishes', (t) => {
  const broker = (isReached: boolean) => ({ isReached: () => isReached, backlog: () => Promise.resolve(1) });

  t.deepEqual(ownProblems(wellPorts({ broker: broker(false) })), [
    { check: 'event_broker', problem: 'the broker cannot be reached or refuses' },
  ]);
  t.deepEqual(ownProblems(wellPorts({ broker: broker(true) })), []);
  t.deepEqual(ownProblems(wellPorts({ broker: null })), []);
});
