/**
 * The secret canary (E4): every secret there is, looked for in all that comes out. Made from the catalogue, so that a
 * new operation is covered at once.
 */
import test from 'ava';
import { Client } from 'pg';
import { catalogue } from '../../../api/catalogue.ts';
import type { AnyOperation } from '../../../api/operation.ts';
import { decodeEnrollmentBlob, type EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import { ENROLL_PATH, PROTOCOL_VERSION } from '../../../transport/protocol/version.ts';
import { ADMIN_KEYS, ENCRYPTION_KEY } from '../../support/admin.ts';
import { leaksIn } from '../../support/canary.ts';
import { rawAgent } from '../../support/fleet/raw-agent.ts';
import { freePort } from '../../support/net/free-ports.ts';
import type { Scope } from '../../support/scope.ts';
import type { TestConnection } from '../../support/database/server.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';
import { until } from '../../support/until.ts';
import { startFleet, type Fleet } from './fleet.ts';

const operations: readonly AnyOperation[] = Object.values(catalogue);

/** Names of the secrets that a text holds. */
function leaks(secrets: Readonly<Record<string, string>>, text: string): readonly string[] {
  const named = Object.entries(secrets).map(([name, value]) => ({ name, value }));
  return [...new Set(leaksIn('', text, named).map(({ secret }) => secret))];
}

/** Everything in every table, as text. */
async function rowsOf(database: TestConnection): Promise<string> {
  const client = new Client({ ...database });
  await client.connect();
  const { rows: tables } = await client.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public'`,
  );
  const texts: string[] = [];
  for (const { name } of tables)
    texts.push(
      ...(await client.query<{ row: string }>(`select t::text as row from "${name}" t`)).rows.map(({ row }) => row),
    );
  await client.end();
  return texts.join('\n');
}

/** None but the default, a wrong key, and another scheme. */
const CREDENTIALS: readonly Readonly<Record<string, string>>[] = [
  {},
  { authorization: 'Bearer wrong-canary-of-a-client-12345' },
  { authorization: 'Basic wrong-canary-of-a-client-12345' },
];

/** Calls every operation and every other route, well and badly, and answers all that came back. */
async function everything({ admin, once }: Fleet, ids: Readonly<Record<string, string>>): Promise<string> {
  const texts: string[] = [];
  const paths = operations.flatMap(({ rest, name }) =>
    rest === null || READS_SECRET.has(name) ? [] : [{ method: rest.method, path: `/api/v1${rest.path}` }],
  );
  const others = ['/', '/api/docs', '/api/openapi', '/healthz', '/livez', '/nope', ENROLL_PATH].map((path) => ({
    method: 'GET' as const,
    path,
  }));
  for (const { method, path } of [...others, ...paths]) {
    const resource = path.split('/')[3] ?? '';
    const filled = path.replaceAll(/:\w+/gu, ids[resource] ?? ids['nodes'] ?? '');
    for (const headers of CREDENTIALS) {
      const body =
        method === 'GET' ? undefined : { name: 'x', command_text: '', password: 'wrong-canary-of-a-client-12345' };
      const {
        data,
        rows,
        error,
        headers: answered,
        // pages are no JSON: read below
      } = await once(method, filled, body, headers).catch(() => once('GET', '/nope'));
      texts.push(JSON.stringify([data, rows, error, [...answered]]));
    }
    if (method === 'GET') texts.push(await (await fetch(admin.url + filled)).text());
  }
  return texts.join('\n');
}

/** Operations whose very answer is a secret, for who may see it. Source: docs/api.md, Resources. */
const READS_SECRET: ReadonlySet<string> = new Set([
  'get_enrollment_key',
  'create_enrollment_key',
  'create_public_enrollment_key',
  'update_enrollment_key',
  'create_node_recovery_key',
]);

/** What a webhook is made with. How it fails, and what comes of that, is seen by the canary over all programs. */
const WEBHOOK_SECRETS = {
  'secret of a webhook': 'webhook-secret-canary/+~ 0123456789',
  'header of a webhook': 'Bearer webhook-header-canary/+~0123456789',
};

/** Makes a webhook to which nobody answers, and a delivery that is given up. */
async function giveUp({ request }: Fleet): Promise<{ readonly webhook: string; readonly delivery: string }> {
  const { data } = await request('POST', '/webhooks', {
    url: `http://127.0.0.1:${await freePort()}/`,
    secret: WEBHOOK_SECRETS['secret of a webhook'],
    subscribed_events: ['edge.core.test'],
    headers: { 'x-api-key': WEBHOOK_SECRETS['header of a webhook'] },
  });
  await request('POST', '/events/test');
  const dropped = await until('it is given up', async () =>
    (await request('GET', '/webhook_deliveries')).rows.find(({ status }) => status === 'dropped'),
  );
  return { webhook: String(data['id']), delivery: String(dropped['id']) };
}

/** What SSH usernames are made and tried with, well and badly. */
const SSH_SECRETS = {
  'password of an SSH username': 'ssh-password-canary/+~ 0123456789',
  'wrong password of an SSH username': 'ssh-wrong-password-canary-0123456789',
  'password that was tried': 'ssh-tried-password-canary-0123456789',
  'private key': 'ssh-private-key-canary-0123456789',
};

/** Makes an SSH username, well and badly, has its agent ask about logins, and answers all that came back. */
async function logIn(
  { admin, request }: Fleet,
  agent: EnrollAnswer,
  t: Scope,
): Promise<{ readonly username: string; readonly key: string; readonly texts: string }> {
  const answers: unknown[] = [];
  const password = SSH_SECRETS['password of an SSH username'];
  const path = `/nodes/${agent.node_id}/ssh_usernames`;
  const made = await request(
    'POST',
    path,
    { username: 'ada', password, public_keys: [{ key_name: 'k', public_key: newKey().line }] },
    { 'idempotency-key': 's' },
  );
  const wrong = SSH_SECRETS['wrong password of an SSH username'];
  const bodies: readonly object[] = [
    { username: 'ada', password: wrong },
    { username: 'x', password: wrong },
    { username: 'eve', password: [wrong] },
    { username: 'eve', password: wrong.repeat(9) },
    { username: 'eve', passwd: wrong },
    { username: wrong },
    {
      username: 'eve',
      public_keys: [
        { key_name: 'k', public_key: `-----BEGIN OPENSSH PRIVATE KEY-----\n${SSH_SECRETS['private key']}\n` },
      ],
    },
    { username: 'eve', public_keys: [{ key_name: 'k', public_key: SSH_SECRETS['private key'] }] },
  ];
  for (const body of bodies) {
    const { status, error, data } = await request('POST', path, body);
    if (status < 400) throw new Error(`a wrong body was taken: ${JSON.stringify(data)}`);
    answers.push(error);
  }
  const session = await rawAgent(t, () => admin.url, agent).connect({ protocol: PROTOCOL_VERSION });
  for (const [index, tried] of [password, SSH_SECRETS['password that was tried']].entries())
    session.send({
      type: 'verify-ssh',
      attempt: index + 1,
      username: 'ada',
      credential: { method: 'password', password: tried },
    });
  await until('both verdicts', () => session.frames.filter(({ type }) => type === 'ssh-verdict').length === 2);
  const accepted = session.frames.flatMap((frame) =>
    frame.type === 'ssh-verdict' && frame.verdict.accepted ? frame.attempt : [],
  );
  if (accepted.join() !== '1') throw new Error('the password was not known');
  const again = await request('POST', path, { username: 'ada', password, public_keys: [] }, { 'idempotency-key': 's' });
  return {
    username: String(made.data['id']),
    key: String((made.data['public_keys'] as { readonly id: string }[])[0]?.id),
    texts: JSON.stringify([made.data, again.error, ...answers, ...session.frames]),
  };
}

test('no secret is in any answer, log line or row', async (t) => {
  const fleet = await startFleet(t, {
    LOG_LEVEL: 'debug',
    WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
    WEBHOOK_RETRY_BASE_MS: '10',
  });
  const { admin, request, enroll } = fleet;
  await request('POST', '/clusters', { name: 'one' });
  const key = await request(
    'POST',
    '/clusters/one/enrollment_keys',
    { uses_remaining: null },
    { 'idempotency-key': 'a' },
  );
  const node = await enroll(String(key.data['key']), { node_id: crypto.randomUUID() });
  const recovery = await request('POST', `/nodes/${String(node.data['node_id'])}/recovery_key`, undefined, {
    'idempotency-key': 'b',
  });
  const command = await request('POST', '/commands', { command_text: 'true', targeting: { type: 'all' } });
  await enroll('not-a-key-canary-0123456789', { node_id: crypto.randomUUID() });
  const { webhook, delivery } = await giveUp(fleet);
  const ssh = await logIn(fleet, node.data as unknown as EnrollAnswer, t);
  const secrets = {
    ...WEBHOOK_SECRETS,
    ...SSH_SECRETS,
    ...ADMIN_KEYS,
    ENCRYPTION_KEY,
    'ENCRYPTION_KEY as bytes': Buffer.from(ENCRYPTION_KEY, 'base64').toString(),
    api_token: String(node.data['api_token']),
    proxy_password: String(node.data['proxy_password']),
    'enrolment key': String(key.data['key']),
    nonce: decodeEnrollmentBlob(String(key.data['key']))?.nonce ?? 'no nonce',
    recovery_key: String(recovery.data['recovery_key']).replace(/^.*\./u, ''),
    'a wrong key of a client': 'wrong-canary-of-a-client-12345',
    'a wrong enrolment key': 'not-a-key-canary-0123456789',
  };
  const ids = {
    nodes: String(node.data['node_id']),
    clusters: 'one',
    commands: String(command.data['id']),
    enrollment_keys: String(key.data['id']),
    webhooks: webhook,
    webhook_deliveries: delivery,
    ssh_usernames: ssh.username,
    ssh_public_keys: ssh.key,
  };
  const rows = await rowsOf(admin.database);

  const answers = [ssh.texts, await everything(fleet, ids)].join('\n');

  t.true(rows.includes(ids.commands), 'the rows were read');
  t.true(answers.includes(ids.commands), 'the answers were read');
  t.deepEqual(leaks(secrets, `x${Buffer.from(secrets.api_token).toString('hex')}y`), ['api_token'], 'a leak is seen');
  t.deepEqual(leaks(secrets, rows), [], 'rows before the calls');
  t.deepEqual(leaks(secrets, await rowsOf(admin.database)), [], 'rows after the calls');
  t.deepEqual(leaks(secrets, answers), [], 'answers');
  t.deepEqual(leaks(secrets, JSON.stringify(admin.log.lines)), [], 'log');
});
