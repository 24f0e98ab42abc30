/** What to do about a node, by what its status rests on. */
import test from 'ava';
import type { NodeResource } from '../../../../actors/resources/node.ts';
import { remedyOf, type Remedy } from '../../../../console/fleet/remedy.ts';
import { TEXTS } from '../../../../console/texts.ts';

type Evidence = NonNullable<NodeResource['status_evidence']>;

const FINE: Evidence = {
  observed_at: '2026-11-29T12:00:00.000Z',
  session: null,
  last_report_at: null,
  services: [],
  vpn: { path: 'direct', handshake_age_ms: 1_000 },
};

test('what to do follows from what the status rests on, and each has its sentence', (t) => {
  const services = [{ name: 'ssh', problem: 'it does not listen' }];
  const noPath: Evidence['vpn'] = { path: 'none', handshake_age_ms: null };
  const cases: readonly (readonly [NodeResource['status'], Evidence | null, Remedy | null])[] = [
    ['healthy', FINE, null],
    ['healthy', { ...FINE, services, vpn: noPath }, null],
    ['unreachable', null, 'start'],
    ['unreachable', { ...FINE, services }, 'reach'],
    ['unhealthy', null, 'diagnose'],
    ['unhealthy', { ...FINE, services, vpn: noPath }, 'services'],
    ['unhealthy', { ...FINE, vpn: noPath }, 'vpn'],
    ['unhealthy', { ...FINE, vpn: null }, 'diagnose'],
    ['unhealthy', FINE, 'diagnose'],
  ];

  t.deepEqual(
    cases.map(([status, evidence]) => remedyOf({ status, status_evidence: evidence })),
    cases.map(([, , remedy]) => remedy),
  );
  t.deepEqual(
    Object.keys(TEXTS.overview.remedies).toSorted(),
    [...new Set(cases.flatMap(([, , remedy]) => remedy ?? []))].toSorted(),
  );
});
