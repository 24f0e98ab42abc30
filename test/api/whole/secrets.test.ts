/** The secret canary (E4): every secret there is, looked for in all that comes out. Made from the catalogue, so that a new operation is covered at once. */
import test from 'ava';
import { Client } from 'pg';
import { catalogue } from '../../../api/catalogue.ts';
import type { AnyOperation } from '../../../api/operation.ts';
import { decodeEnrollmentBlob } from '../../../transport/protocol/enrollment.ts';
import { ENROLL_PATH } from '../../../transport/protocol/version.ts';
import { ADMIN_KEYS, ENCRYPTION_KEY } from '../../support/admin.ts';
import type { TestConnection } from '../../support/server.ts';
import { startFleet, type Fleet } from './fleet.ts';

const operations: readonly AnyOperation[] = Object.values(catalogue);

/** A secret in every form in which it could slip out. */
function forms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [secret, bytes.toString('base64').replace(/=+$/u, ''), bytes.toString('base64url'), bytes.toString('hex'), encodeURIComponent(secret)];
}

/** Names of the secrets that a text holds. */
function leaks(secrets: Readonly<Record<string, string>>, text: string): readonly string[] {
  return Object.entries(secrets).filter(([, secret]) => forms(secret).some((form) => text.includes(form))).map(([name]) => name);
}

/** Everything in every table, as text. */
async function rowsOf(database: TestConnection): Promise<string> {
  const client = new Client({ ...database });
  await client.connect();
  const { rows: tables } = await client.query<{ name: string }>(`select table_name as name from information_schema.tables where table_schema = 'public'`);
  const texts: string[] = [];
  for (const { name } of tables) texts.push(...(await client.query<{ row: string }>(`select t::text as row from "${name}" t`)).rows.map(({ row }) => row));
  await client.end();
  return texts.join('\n');
}

/** None but the default, a wrong key, and another scheme. */
const CREDENTIALS: readonly Readonly<Record<string, string>>[] = [{}, { authorization: 'Bearer wrong-canary-of-a-client-12345' }, { authorization: 'Basic wrong-canary-of-a-client-12345' }];

/** Calls every operation and every other route, well and badly, and answers all that came back. */
async function everything({ admin, request }: Fleet, ids: Readonly<Record<string, string>>): Promise<string> {
  const texts: string[] = [];
  const paths = operations.flatMap(({ rest, name }) => (rest === null || READS_SECRET.has(name) ? [] : [{ method: rest.method, path: `/api/v1${rest.path}` }]));
  const others = ['/', '/api/docs', '/api/openapi', '/healthz', '/livez', '/nope', ENROLL_PATH].map((path) => ({ method: 'GET' as const, path }));
  for (const { method, path } of [...others, ...paths]) {
    const resource = path.split('/')[3] ?? '';
    const filled = path.replaceAll(/:\w+/gu, ids[resource] ?? ids['nodes'] ?? '');
    for (const headers of CREDENTIALS) {
      const body = method === 'GET' ? undefined : { name: 'x', command_text: '', password: 'wrong-canary-of-a-client-12345' };
      const { data, rows, error, headers: answered } = await request(method, filled, body, headers).catch(() => request('GET', '/nope')); // pages are no JSON: read below
      texts.push(JSON.stringify([data, rows, error, [...answered]]));
    }
    if (method === 'GET') texts.push(await (await fetch(admin.url + filled)).text());
  }
  return texts.join('\n');
}

/** Operations whose very answer is a secret, for who may see it. Source: contract.md, resource fields. */
const READS_SECRET: ReadonlySet<string> = new Set(['get_enrollment_key', 'create_enrollment_key', 'create_public_enrollment_key', 'update_enrollment_key', 'create_node_recovery_key']);

test('no secret is in any answer, log line or row', async (t) => {
  const fleet = await startFleet(t, { LOG_LEVEL: 'debug' });
  const { admin, request, enroll } = fleet;
  await request('POST', '/clusters', { name: 'one' });
  const key = await request('POST', '/clusters/one/enrollment_keys', { uses_remaining: null }, { 'idempotency-key': 'a' });
  const node = await enroll(String(key.data['key']), { node_id: crypto.randomUUID() });
  const recovery = await request('POST', `/nodes/${String(node.data['node_id'])}/recovery_key`, undefined, { 'idempotency-key': 'b' });
  const command = await request('POST', '/commands', { command_text: 'true', targeting: { type: 'all' } });
  await enroll('not-a-key-canary-0123456789', { node_id: crypto.randomUUID() });
  const secrets = {
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
  const ids = { nodes: String(node.data['node_id']), clusters: 'one', commands: String(command.data['id']), enrollment_keys: String(key.data['id']) };
  const rows = await rowsOf(admin.database);

  const answers = await everything(fleet, ids);

  t.true(rows.includes(ids.commands), 'the rows were read');
  t.true(answers.includes(ids.commands), 'the answers were read');
  t.deepEqual(leaks(secrets, `x${Buffer.from(secrets.api_token).toString('hex')}y`), ['api_token'], 'a leak is seen');
  t.deepEqual(leaks(secrets, rows), [], 'rows before the calls');
  t.deepEqual(leaks(secrets, await rowsOf(admin.database)), [], 'rows after the calls');
  t.deepEqual(leaks(secrets, answers), [], 'answers');
  t.deepEqual(leaks(secrets, JSON.stringify(admin.log.lines)), [], 'log');
  t.true(Object.values(secrets).every((secret) => secret.length >= 16), 'every canary is one');
});
