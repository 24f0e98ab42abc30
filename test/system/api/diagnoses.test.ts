/** Reports that nodes bring, through a whole admin: who may, what is kept, and what is told of a node that is away. */
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { DIAGNOSIS_BYTES_MAX, DIAGNOSIS_PATH } from '../../../transport/protocol/diagnosis.ts';
import { ADMIN_KEYS } from '../../support/admin.ts';
import { shared, startFleet } from './fleet.ts';
import { column } from '../../support/database/columns.ts';

interface Told {
  readonly name: string;
  readonly status: string;
  readonly summary: string;
}

const CHECK = {
  name: 'disk',
  status: 'pass',
  summary: 'There is room.',
  hint: null,
  details: { free_bytes: 1 },
  duration_ms: 2,
};
const report = (check: object = {}) => ({
  overall: 'pass',
  collected_at: '2001-01-01T00:00:00.000Z',
  checks: [{ ...CHECK, ...check }],
});

const fleet = shared(test, async (scope) => {
  const started = await startFleet(scope);
  await started.request('POST', '/clusters', { name: 'prod', ipv4_range: '100.64.9.0/24' });
  return started;
});

/** A node that has its token and no agent. */
async function fixture() {
  const { node_id: node, api_token: ownToken } = await fleet().node('prod');
  const upload = (body: unknown, token: string = ownToken) =>
    fleet().request('POST', DIAGNOSIS_PATH, body, { authorization: token === '' ? '' : `Bearer ${token}` });
  const diagnosed = async () => {
    const answer = await fleet().request('GET', `/nodes/${node}/diagnostics`);
    return { ...answer, checks: (answer.data['checks'] ?? []) as readonly Told[] };
  };
  return { ...fleet(), upload, diagnosed };
}

test('a node that never connected fails with what is seen from here, and with its last report once it brought one', async (t) => {
  const { upload, diagnosed } = await fixture();

  const before = await diagnosed();
  const uploaded = await upload(report());
  const after = await diagnosed();
  await upload(report({ summary: 'There is less room.' }));
  const later = await diagnosed();

  t.deepEqual([before.status, uploaded.status, after.status], [200, 204, 200]);
  t.deepEqual(
    before.checks.map(({ name, status }) => [name, status]),
    [
      ['node_session', 'fail'],
      ['node_last_seen', 'fail'],
      ['node_tunnel', 'fail'],
      ['agent_report', 'fail'],
      ['version', 'pass'],
    ],
  );
  t.deepEqual(column(after.checks, 'name'), [
    'node_session',
    'node_last_seen',
    'node_tunnel',
    'agent_report',
    'disk',
    'version',
  ]);
  t.deepEqual([after.data['overall'], after.data['is_live']], ['fail', false]);
  t.true(
    Math.abs(Date.now() - Date.parse(String(after.data['collected_at']))) < 60_000,
    'by the clock of the admin, whatever the machine says',
  );
  t.is(later.checks.find(({ name }) => name === 'disk')?.summary, 'There is less room.');
});

test('only the token of a node brings a report, and what is none is refused and keeps nothing', async (t) => {
  const { upload, diagnosed, admin } = await fixture();

  const strangers = [
    await upload(report(), ''),
    await upload(report(), 'no-such-token'),
    await upload(report(), ADMIN_KEYS.MASTER_KEY),
    await upload(report(), ADMIN_KEYS.API_KEY),
  ];
  const wrong = [
    await upload({}),
    await upload(report({ name: 'node_tunnel' })),
    await upload([1]),
    await upload(report({ details: { a: { b: 1 } } })),
  ];
  const large = await upload({ ...report(), padding: 'x'.repeat(DIAGNOSIS_BYTES_MAX) });
  const read = await fetch(`${admin.url}${DIAGNOSIS_PATH}`, {
    headers: { authorization: `Bearer ${ADMIN_KEYS.API_KEY}` },
  });

  t.deepEqual(
    strangers.map(({ status, error }) => [status, error?.code]),
    strangers.map(() => [401, 'unauthorized']),
  );
  t.deepEqual(
    wrong.map(({ status, error }) => [status, error?.code]),
    wrong.map(() => [422, 'validation_failed']),
  );
  t.deepEqual([large.status, read.status], [413, 405]);
  t.deepEqual((await diagnosed()).checks.length, 5);
});

test('the largest report that is one can be kept, and numbers that no database writes shortly are none', async (t) => {
  const { upload, diagnosed } = await fixture();
  const checks = (number: number) =>
    Array.from({ length: 40 }, (_, index) => ({
      ...CHECK,
      name: `check_${index}`,
      details: Object.fromEntries(Array.from({ length: 32 }, (__, detail) => [`d${detail}`, number])),
    }));

  const kept = await upload({ ...report(), checks: checks(-0.000_001_234_567_890_12) });
  const inodes = await upload({ ...report(), checks: checks(2 ** 64) });
  const refused = [
    await upload({ ...report(), checks: checks(1e300) }),
    await upload({ ...report(), checks: checks(1e-300) }),
  ];

  t.deepEqual(column([kept, inodes, ...refused], 'status'), [204, 204, 422, 422]);
  t.is((await diagnosed()).checks.length, 45);
});

test('addresses of the VPN and control characters of a report are not told', async (t) => {
  const { upload, diagnosed } = await fixture();

  await upload(report({ summary: 'Peer 100.64.9.7 \u001B[31mis\u0007 down', details: { peer: '100.64.9.7' } }));
  const { checks } = await diagnosed();

  t.notRegex(JSON.stringify(checks), /100\.64\.9\.7/u);
  t.is(checks.find(({ name }) => name === 'disk')?.summary, 'Peer [VPN address]  [31mis  down');
});

test('a node that brings too many is told to wait, and no other is', async (t) => {
  const { upload, diagnosed } = await fixture();
  const statuses: number[] = [];
  for (let count = 0; count < 13; count += 1) statuses.push((await upload(report())).status);
  const { headers } = await upload(report());
  const other = await fleet().node('prod');

  t.deepEqual(
    statuses.toSorted((a, b) => a - b),
    [...Array.from({ length: 12 }, () => 204), 429],
  );
  t.regex(headers.get('retry-after') ?? '', /^\d+$/u);
  t.is((await upload(report(), other.api_token)).status, 204);
  t.is((await diagnosed()).status, 200);
});

test('a diagnosis of a node that is not there is a 404, and one with a wrong id a 400', async (t) => {
  const { request } = await fixture();

  t.deepEqual(
    [
      (await request('GET', `/nodes/${randomUUID()}/diagnostics`)).status,
      (await request('GET', '/nodes/nobody/diagnostics')).status,
    ],
    [404, 400],
  );
});
