/** What to do about a node, by what its status rests on. */
import test from 'ava';
import type { NodeResource } from '../../../../actors/resources/node.ts';
import { diagnosedBy, illnessOf, remedyOf, type Remedy } from '../../../../console/fleet/remedy.ts';
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

test('a diagnosis that failed is no answer, and one is of the illness in which it was asked for', async (t) => {
  const texts = { noHint: 'Nothing to advise.', notAsked: 'It was not asked.' };
  const answering = (...hints: (string | null)[]) =>
    diagnosedBy(() => Promise.resolve({ checks: hints.map((hint) => ({ hint })) }), texts);

  t.deepEqual(await answering('Restart it.', null, 'Restart it.'), { lines: ['Restart it.'], isAnswer: true });
  t.deepEqual(await answering(null), { lines: ['Nothing to advise.'], isAnswer: true });
  t.deepEqual(await diagnosedBy(() => Promise.reject(new Error('The connection was lost')), texts), {
    lines: ['It was not asked.'],
    isAnswer: false,
  });
  const ill = { status: 'unhealthy', status_since: '2026-11-29T12:00:00.000Z' } as const;
  t.is(illnessOf({ ...ill }), illnessOf(ill));
  t.not(illnessOf({ ...ill, status: 'unreachable' }), illnessOf(ill));
  t.not(illnessOf({ ...ill, status_since: '2026-11-29T13:00:00.000Z' }), illnessOf(ill));
});
