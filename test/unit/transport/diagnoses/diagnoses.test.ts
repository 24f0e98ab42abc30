/** Diagnoses as an admin puts them together, whatever the way to the node and its agent do. */
import { PassThrough } from 'node:stream';
import test from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import type { NodeStanding, DiagnosisPorts } from '../../../../transport/diagnoses/ports.ts';
import { Diagnoses } from '../../../../transport/diagnoses/diagnoses.ts';
import { DIAGNOSES_MAX } from '../../../../transport/diagnoses/limits.ts';
import { Diagnosis } from '../../../../transport/protocol/diagnosis.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { notDialled } from '../../../../transport/net/streams/dialled.ts';
import { recordingLog } from '../../../support/log.ts';
import { scaled } from '../../../support/busy.ts';

const NODE = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01' as NodeId;
const NOW_MS = Date.UTC(2026, 0, 15, 10);
const LAST = [{ name: 'disk', status: 'pass' as const, summary: 'Room.', hint: null, details: null, duration_ms: 1 }];
const REPORT = JSON.stringify({
  overall: 'pass',
  collected_at: '2026-01-01T00:00:00.000Z',
  checks: [{ name: 'dns', status: 'pass', summary: 'Well.', hint: null, details: null, duration_ms: 1 }],
});

const STANDING: NodeStanding = {
  status: 'healthy',
  lastSeenAtMs: NOW_MS - 2_000,
  version: '1.0.0',
  apiPort: 44_000,
  owner: { id: 'me', name: 'admin-1' },
  ranges: ['100.64.7.0/24', 'fd00::/64'],
  report: { collectedAtMs: NOW_MS - 3_600_000, checks: LAST },
};

function fixture(more: Partial<DiagnosisPorts> = {}, standing: Partial<NodeStanding> | null = {}) {
  const stored: unknown[] = [];
  const log = recordingLog();
  const ports: DiagnosisPorts = {
    requests: { get: async () => ({ ok: true, type: 'application/json', body: Buffer.from(REPORT), gzip: null }) },
    tunnels: { reach: async () => ({ ok: true, stream: new PassThrough() }) },
    hasSession: () => true,
    relayedBy: () => null,
    adminId: 'me',
    version: '1.0.0',
    clock: { nowMs: () => NOW_MS },
    log,
    rows: {
      standing: async () => (standing === null ? null : { ...STANDING, ...standing }),
      ranges: async () => STANDING.ranges,
      store: async (...row) => {
        stored.push(row);
      },
    },
    ...more,
  };
  return { diagnoses: new Diagnoses(ports), stored, log };
}

async function reportOf(more: Partial<DiagnosisPorts> = {}, standing: Partial<NodeStanding> = {}) {
  const { diagnoses, stored } = fixture(more, standing);
  const answer = await diagnoses.get(NODE);
  if (!answer.ok) throw new Error(answer.refusal.message);
  return {
    report: answer.value,
    stored,
    statuses: Object.fromEntries(answer.value.checks.map(({ name, status }) => [name, status])),
  };
}

test('a live report comes behind what is seen from here, and is kept', async (t) => {
  const { report, stored } = await reportOf();

  t.deepEqual(
    report.checks.map(({ name, status }) => `${name} ${status}`),
    [
      'node_session pass',
      'node_last_seen pass',
      'node_tunnel pass',
      'node_round_trip pass',
      'agent_report pass',
      'dns pass',
      'version pass',
    ],
  );
  t.deepEqual(
    [report.overall, report.is_live, report.collected_at, stored.length],
    ['pass', true, '2026-01-15T10:00:00.000Z', 1],
  );
  t.true(Diagnosis.safeParse(report).success);
});

test('a node that is away gets its last report with its time, and is not asked', async (t) => {
  let asked = 0;
  const away = {
    hasSession: () => false,
    relayedBy: () => null,
    tunnels: { reach: async () => notDialled('offline', 'The machine is not connected.') },
    requests: {
      get: async () => {
        asked += 1;
        throw new Error('not asked');
      },
    },
  };

  const { report, stored, statuses } = await reportOf(away, { status: 'unreachable' });
  const never = await reportOf(away, { status: 'unreachable', report: null, lastSeenAtMs: null });

  t.deepEqual(statuses, {
    node_session: 'fail',
    node_last_seen: 'fail',
    node_tunnel: 'fail',
    agent_report: 'fail',
    disk: 'pass',
    version: 'pass',
  });
  t.deepEqual(
    [report.overall, report.is_live, report.collected_at, stored.length, asked],
    ['fail', false, '2026-01-15T09:00:00.000Z', 0, 0],
  );
  t.deepEqual(
    never.report.checks.map(({ name }) => name),
    ['node_session', 'node_last_seen', 'node_tunnel', 'agent_report', 'version'],
  );
  t.regex(never.report.checks[3]?.summary ?? '', /there is none from before/u);
});

test('a node on a metered link, heard each minute, is not called silent', async (t) => {
  const nowMs = Date.UTC(2026, 0, 15, 10);
  const seen = async (ms: number) => (await reportOf({}, { lastSeenAtMs: nowMs - ms })).statuses['node_last_seen'];

  t.deepEqual([await seen(70_000), await seen(91_000)], ['pass', 'warn']);
});

test('a node with its session at another admin passes; one whose cluster nobody owns does not', async (t) => {
  const [elsewhere, nowhere] = [
    await reportOf({ hasSession: () => false }, { owner: { id: 'other', name: 'admin-2' } }),
    await reportOf({ hasSession: () => false }, { owner: null }),
  ];

  t.deepEqual([elsewhere.statuses['node_session'], nowhere.statuses['node_session']], ['pass', 'fail']);
  t.regex(elsewhere.report.checks[0]?.summary ?? '', /admin-2/u);
});

test('an agent that is old, silent, cut or lying is a check that fails, with the last report behind it', async (t) => {
  const answers = [
    { ok: false as const, failure: 'invalid' as const, message: 'The node answered with status 404.' },
    { ok: false as const, failure: 'slow' as const, message: 'The node did not answer in time.' },
    ...['', '<html>', '{}', REPORT.replace('"dns"', '"node_tunnel"'), REPORT.replace('pass', 'fine')].map((body) => ({
      ok: true as const,
      type: 'text/html',
      body: Buffer.from(body),
      gzip: null,
    })),
  ];

  const found = await Promise.all(answers.map((answer) => reportOf({ requests: { get: async () => answer } })));

  for (const { statuses, report, stored } of found)
    t.deepEqual(
      [
        statuses['agent_report'],
        statuses['node_tunnel'],
        statuses['disk'],
        report.overall,
        report.is_live,
        stored.length,
      ],
      ['fail', 'pass', 'pass', 'fail', false, 0],
    );
  t.regex(found[0]?.report.checks[4]?.summary ?? '', /status 404\); the last one, of 2026-01-15T09:00/u);
});

test('a machine that refuses its port counts as reached; its text is cleared of VPN addresses and control characters', async (t) => {
  const refusing = {
    tunnels: { reach: async () => notDialled('refused', 'nobody') },
    requests: {
      get: async () => ({ ok: false as const, failure: 'unreachable' as const, message: 'Nobody answers.' }),
    },
  };
  const lying = { tunnels: { reach: async () => notDialled('failed', 'see \u001B]0;x\u0007 100.64.7.9') } };

  const [refused, lied] = [await reportOf(refusing), await reportOf(lying)];

  t.deepEqual([refused.statuses['node_tunnel'], refused.statuses['agent_report']], ['pass', 'fail']);
  t.is(lied.statuses['node_tunnel'], 'fail');
  t.notRegex(lied.report.checks[2]?.summary ?? '', /100\.64|\p{Cc}/u);
});

test('versions that differ are warned of, in which direction is told', async (t) => {
  const found = await Promise.all(
    ['0.9.9', '1.0.1', '1.0.0-rc.1', 'nightly'].map((version) => reportOf({}, { version })),
  );

  t.deepEqual(
    found.map(({ statuses }) => statuses['version']),
    ['warn', 'warn', 'pass', 'warn'],
  );
  t.deepEqual(
    found.map(({ report }) => /older|newer|cannot/u.exec(report.checks.at(-1)?.summary ?? '')?.[0]),
    ['older', 'newer', undefined, 'cannot'],
  );
});

test('several who ask at once share one diagnosis, and only so many nodes are diagnosed at once', async (t) => {
  const gate = Promise.withResolvers<void>();
  let asked = 0;
  const { diagnoses } = fixture({
    requests: {
      get: async () => {
        asked += 1;
        await gate.promise;
        return { ok: true, type: '', body: Buffer.from(REPORT), gzip: null };
      },
    },
  });

  const same = [diagnoses.get(NODE), diagnoses.get(NODE), diagnoses.get(NODE)];
  const others = Array.from({ length: DIAGNOSES_MAX }, (_, index) =>
    diagnoses.get(`${NODE.slice(0, -3)}${String(index + 100)}` as NodeId),
  );
  const beyond = await others.at(-1);
  gate.resolve();
  const answers = await Promise.all([...same, ...others.slice(0, -1)]);

  t.is(asked, DIAGNOSES_MAX);
  t.true(answers.every(({ ok }) => ok));
  t.deepEqual(beyond?.ok === false && beyond.refusal.code, 'service_unavailable');
  t.true((await diagnoses.get(NODE)).ok, 'and there is room again');
});

test('a database that hangs while a report is kept holds nobody up', async (t) => {
  const startedMs = performance.now();

  const { report } = await reportOf({
    rows: { standing: async () => STANDING, ranges: async () => null, store: () => new Promise(() => {}) },
  });

  t.true(report.is_live && performance.now() - startedMs < scaled(5_000));
});

test('a report that cannot be stored is still given; without rows there is no answer; an unknown node is not found', async (t) => {
  const gone = async () => {
    throw new DatabaseUnavailable('storing');
  };
  const rows = { standing: async () => STANDING, ranges: async () => null, store: gone };
  const { diagnoses, log } = fixture({ rows });
  const lost = fixture({ rows: { ...rows, standing: gone } });

  const answer = await diagnoses.get(NODE);
  await t.throwsAsync(lost.diagnoses.get(NODE), { instanceOf: DatabaseUnavailable });
  const missing = await fixture({}, null).diagnoses.get(NODE);
  const taken = await diagnoses.take(NODE, JSON.parse(REPORT));

  t.deepEqual([answer.ok, log.lines.map(({ message }) => message)], [true, ['a diagnosis was not stored']]);
  t.deepEqual([missing.ok, taken.ok], [false, false]);
});
