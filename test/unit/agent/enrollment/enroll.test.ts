import test from 'ava';
import { enroll, FULL_AGAIN_MS, FULL_MS_MAX } from '../../../../agent/enrollment/enroll.ts';
import type { EnrollmentOptions } from '../../../../agent/enrollment/enroll.ts';
import type { HttpAnswer } from '../../../../agent/outbound/http-exchange.ts';
import { AgentProblem } from '../../../../agent/problem.ts';
import { recordingLog, silentLog } from '../../../support/log.ts';
import { NODE, SETTINGS } from '../../../support/agent/session-fixture.ts';

const ANSWER = {
  node_id: NODE,
  api_token: 't',
  proxy_password: 'p',
  cluster_name: 'c',
  admin_urls: ['http://a.test'],
  settings: SETTINGS,
};

const REQUEST: EnrollmentOptions['request'] = {
  enrollment_key: 'k',
  node_id: NODE,
  version: '1',
  id_type: 'persistent',
  self_update_enabled: false,
  ports: {
    http_port: 1,
    ssh_port: 2,
    host_metrics_port: 3,
    wireguard_metrics_port: 4,
    http_proxy_port: 5,
    socks5_proxy_port: 6,
  },
};

/** Enrols against answers given in turn; an Error is a network error. */
function attempts(
  answers: readonly (HttpAnswer | Error)[],
  adminUrls: readonly string[] = ['http://a.test/base/', 'https://b.test'],
  log: EnrollmentOptions['log'] = silentLog,
) {
  const posted: string[] = [];
  const waits: number[] = [];
  const result = enroll({
    request: REQUEST,
    adminUrls,
    log,
    random: () => 0.999_999_999,
    sleep: async (ms) => {
      waits.push(ms);
    },
    post: async (url) => {
      const answer = answers[posted.length];
      posted.push(url);
      if (answer === undefined) throw new AgentProblem('the test has no further answer', 1);
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return { result, posted, waits };
}

test('admins are tried in order, with their own paths, and the first good answer is taken', async (t) => {
  const { result, posted, waits } = attempts([
    new Error('connection refused'),
    { status: 201, body: { data: ANSWER, meta: {} } },
  ]);

  t.deepEqual((await result).answer as unknown, ANSWER);
  t.deepEqual(posted, ['http://a.test/base/api/v1/agents/enroll', 'https://b.test/api/v1/agents/enroll']);
  t.deepEqual(waits, []);
});

test('overload, faults and nonsense are tried again, with waits that grow by the round up to 30 seconds', async (t) => {
  const bad = [500, 502, 503, 429, 408].map((status) => ({ status, body: null }));
  const answers = [
    ...bad,
    { status: 201, body: { data: { hello: 1 } } },
    { status: 200, body: 'text' },
    ...Array.from({ length: 20 }, () => new Error('no answer within 15 s')),
  ];
  const { result, waits } = attempts([...answers, { status: 201, body: { data: ANSWER } }], ['http://a.test']);

  await result;

  t.is(waits.length, answers.length);
  t.true(waits.every((wait, index) => index === 0 || wait >= (waits[index - 1] ?? 0)));
  t.is(waits.at(-1), 30_000);
});

test('an admin that has no room is asked again, and the log has its words', async (t) => {
  const log = recordingLog();
  const message = 'The admin of this cluster has no room for another node.';
  const full = { status: 503, body: { error: { code: 'degraded_mode', message, details: null }, meta: {} } };
  const { result } = attempts([full, { status: 201, body: { data: ANSWER } }], ['http://a.test'], log);

  t.deepEqual((await result).answer as unknown, ANSWER);
  t.deepEqual(
    log.lines.map(({ fields }) => fields),
    [{ admin: 'http://a.test', problem: `it answered 503: ${message}` }],
  );
});

const refusal = (code: string): HttpAnswer => ({
  status: 403,
  body: { error: { code, message: 'm', details: null }, meta: {} },
});

test('a refusal that another admin does not share ends nothing', async (t) => {
  const { result, posted, waits } = attempts([refusal('invalid_key'), { status: 201, body: { data: ANSWER } }]);

  t.is((await result).adminUrl, 'https://b.test');
  t.deepEqual([posted.length, waits], [2, []]);
});

test('an agent logs a full cluster and asks again after minutes, and also logs what the other admins refuse', async (t) => {
  const log = recordingLog();
  const answers = [refusal('key_spent'), refusal('node_limit_reached'), { status: 201, body: { data: ANSWER } }];
  const { result, waits } = attempts(answers, undefined, log);

  t.deepEqual((await result).answer as unknown, ANSWER);
  t.deepEqual(waits, [FULL_AGAIN_MS]);
  t.deepEqual(
    log.lines.map(({ fields }) => fields),
    [
      { admin: 'https://b.test', problem: 'the cluster has reached its node limit: raise it or remove a node' },
      { admin: 'http://a.test/base/', problem: 'ENROLLMENT_KEY has no uses left: make a new key' },
    ],
  );
});

test('an admin that says nothing more of a full cluster takes nothing back of it: the waits go on, and grow to an hour', async (t) => {
  const full = refusal('node_limit_reached');
  const passing = [{ status: 429, body: null }, new Error('connection refused'), { status: 404, body: '<html>' }];
  const { result, waits } = attempts(
    [new Error('connection refused'), full, ...passing, full, { status: 429, body: null }, refusal('key_spent')],
    ['http://a.test'],
  );

  await t.throwsAsync(result, { instanceOf: AgentProblem, message: /has no uses left/u });

  t.true((waits[0] ?? Infinity) < 1_000);
  t.deepEqual(waits.slice(1), [
    FULL_AGAIN_MS,
    2 * FULL_AGAIN_MS,
    4 * FULL_AGAIN_MS,
    8 * FULL_AGAIN_MS,
    FULL_MS_MAX,
    FULL_MS_MAX,
  ]);
});

test('refusals do not end enrolment while the admin of a full cluster is away, but do once it refuses as well', async (t) => {
  const [full, spent, away] = [refusal('node_limit_reached'), refusal('key_spent'), new Error('connection refused')];
  const { result, posted } = attempts([full, spent, away, spent, spent, spent]);

  await t.throwsAsync(result, { instanceOf: AgentProblem });

  t.is(posted.length, 6);
});

test('a refusal is final once all admins were asked, names the admin, and says what to do', async (t) => {
  const { result, posted } = attempts([refusal('key_spent'), new Error('connection refused')]);

  const problem = await t.throwsAsync(result, { instanceOf: AgentProblem });

  t.is(
    problem.message,
    'Enrolment was refused by http://a.test/base/: ENROLLMENT_KEY has no uses left: make a new key',
  );
  t.is(posted.length, 2);
});

test('an answer of no admin, as of a captive portal, is logged and ends nothing: all admins are asked again', async (t) => {
  const log = recordingLog();
  const strange = [
    { status: 302, body: null },
    { status: 404, body: '<html>' },
    { status: 403, body: { error: 'denied' } },
  ];
  const { result, posted, waits } = attempts(
    [...strange, { status: 201, body: { data: ANSWER } }],
    ['http://a.test', 'https://b.test'],
    log,
  );

  t.deepEqual((await result).answer as unknown, ANSWER);
  t.deepEqual(
    posted.map((url) => new URL(url).host),
    ['a.test', 'b.test', 'a.test', 'b.test'],
  );
  t.is(waits.length, 1);
  t.deepEqual(
    log.lines.map(({ fields }) => fields as unknown),
    [302, 404, 403].map((status, index) => ({
      admin: ['http://a.test', 'https://b.test'][index % 2],
      problem: `it answered ${status}, which is no answer of an admin: check ADMIN_URLS`,
    })),
  );
});
