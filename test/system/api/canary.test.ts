/** E4: no secret is ever in a response, log, event, row, process list or child environment. */
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { decodeEnrollmentBlob } from '../../../transport/protocol/enrollment.ts';
import { leaksIn, type Leak, type Secret } from '../../support/canary.ts';
import { CLUSTER, FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { processesWith } from '../../support/fleet/agent-program.ts';
import { enrollment } from '../../support/fleet/raw-agent.ts';
import { restClient, type Rest } from '../../support/fleet/rest.ts';
import { startOtlpCollector } from '../../support/otlp-collector.ts';
import { exportingTo } from '../../support/traces.ts';
import { until } from '../../support/until.ts';
import { currentClient } from '../../support/api/mcp-clients.ts';
import { httpClient } from '../../support/api/trpc-clients.ts';
import { hangAfter } from '../../support/busy.ts';

/** Something that came out, and the secrets that it may hold because it was made to tell them. */
interface Emission {
  readonly place: string;
  readonly text: string;
  readonly mayTell: RegExp;
}

const NOTHING = /^$/u;

test('the canary is found in every form, and nothing else is', (t) => {
  const secret = 'canary/with+signs~and "quotes"';
  const formOf = (text: string) => [
    ...new Set(leaksIn('here', text, [{ name: 'it', value: secret }]).map(({ form }) => form)),
  ];

  t.deepEqual(formOf(`x${secret}x`), ['raw']);
  t.deepEqual(formOf(encodeURIComponent(secret)), ['URL']);
  t.deepEqual(formOf(JSON.stringify({ a: secret })), ['JSON']);
  t.deepEqual(formOf(Buffer.from(secret).toString('hex').toUpperCase()), ['hex']);
  for (const before of ['', 'a', 'ab', 'abc']) {
    t.true(formOf(Buffer.from(`${before}${secret}behind`).toString('base64')).includes('base64'), before);
    t.true(formOf(Buffer.from(`${before}${secret}`).toString('base64url')).includes('base64url'), before);
  }
  t.deepEqual(formOf('canary and others'), []);
});

test('no secret is in any answer, log, event, row, process list or environment of a child', async (t) => {
  t.timeout(hangAfter(120_000));
  const databasePassword = `database-password-${randomBytes(12).toString('hex')}`;
  const encryptionKey = randomBytes(32);
  // Its own: clients of other tests show that of all fleets on their command lines.
  const keys = { ...FLEET_KEYS, PROXY_KEY: `proxy-key-${randomBytes(12).toString('hex')}` };
  const collector = await startOtlpCollector(t);
  const collectorKey = `collector-key-${randomBytes(12).toString('hex')}`;
  const fleet = await startFleet(t, {
    agents: 2,
    env: {
      ...exportingTo(collector.url),
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${collectorKey}`,
      PROXY_KEY: keys.PROXY_KEY,
      ENCRYPTION_KEY: encryptionKey.toString('base64'),
      LOG_LEVEL: 'debug',
      PUBLIC_ENROLLMENT_KEY_ENABLED: 'true',
      DEFAULT_CLUSTER_NAME: CLUSTER,
      AUTH_FAILURES_PER_MINUTE_MAX: '100000',
      WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
      WEBHOOK_RETRY_BASE_MS: '50',
    },
    agentEnv: { LOG_LEVEL: 'debug' },
    databasePassword,
  });
  const secrets: Secret[] = [
    ...Object.entries(keys).map(([name, value]) => ({ name, value })),
    { name: 'ENCRYPTION_KEY', value: encryptionKey },
    { name: 'the password of the database', value: databasePassword },
    { name: 'the key of the trace collector', value: collectorKey },
    ...fleet.agents.flatMap((agent) => identitySecrets(agent.dataDirectory)),
  ];
  const emitted: Emission[] = [];
  const rest = recorded(fleet, emitted);

  await live(t, fleet, rest, secrets, emitted);
  for (const { program } of fleet.agents) program.terminate();
  await Promise.all(fleet.agents.map(({ program }) => program.exited));
  fleet.admins[0]?.program.terminate();
  await fleet.admins[0]?.program.exited;

  emitted.push(...(await leftovers(fleet)), {
    place: 'spans',
    text: JSON.stringify(collector.spans),
    mayTell: NOTHING,
  });
  t.true(collector.spans.length > 20, `${collector.spans.length} spans were looked at`);
  const finds = emitted.flatMap(({ place, text, mayTell }) =>
    leaksIn(place, text, secrets).map((leak) => ({ leak, isAllowed: mayTell.test(leak.secret) })),
  );
  t.deepEqual(distinct(finds.filter(({ isAllowed }) => !isAllowed).map(({ leak }) => leak)), []);
  const told = new Set(finds.filter(({ isAllowed }) => isAllowed).map(({ leak }) => leak.secret));
  t.deepEqual(
    told,
    new Set(['nonce of a key', 'nonce of a public key', 'recovery key']),
    'where they belong they are found, so they would be elsewhere',
  );
  t.true(emitted.length > 50, `${emitted.length} places were looked at`);
  t.true(secrets.length > 15, `${secrets.length} secrets were looked for`);
});

/** Everything that a fleet does with secrets, also wrongly. */
async function live(
  t: ExecutionContext,
  fleet: Fleet,
  rest: Rest,
  secrets: Secret[],
  emitted: Emission[],
): Promise<void> {
  const url = fleet.admins[0]?.url ?? '';
  const [agent, other] = fleet.agents;
  if (agent === undefined || other === undefined) throw new Error('two agents were asked for');

  const key = await rest.post<{ id: string; key: string }>(`/clusters/${CLUSTER}/enrollment_keys`, {
    name: 'seen',
    uses_remaining: 3,
  });
  const spare = await rest.post<{ id: string; key: string }>('/clusters/default/enrollment_keys/public');
  const { recovery_key: recovery } = await rest.post<{ recovery_key: string }>(`/nodes/${agent.node}/recovery_key`, {});
  for (const [name, blob] of [
    ['nonce of a key', key.key],
    ['nonce of a public key', spare.key],
  ] as const)
    secrets.push({ name, value: decodeEnrollmentBlob(blob)?.nonce ?? '' });
  secrets.push({ name: 'recovery key', value: recovery.split('.')[1] ?? '' });

  const wrong = `wrong-key-${randomUUID()}`;
  secrets.push({ name: 'wrong key', value: wrong });
  await rest.call('GET', '/nodes', { headers: { authorization: `Bearer ${wrong}` } });
  for (const scoped of Object.values(FLEET_KEYS))
    await rest.call('GET', '/nodes', { headers: { authorization: `Bearer ${scoped}` } });
  for (const path of [
    `/enrollment_keys/${key.id}`,
    '/enrollment_keys',
    '/nodes',
    `/nodes/${agent.node}`,
    `/nodes/${agent.node}/diagnostics`,
    `/clusters/${CLUSTER}`,
    '/admins/me',
    '/event_types',
  ])
    await rest.call('GET', path);
  await rest.call('PATCH', `/enrollment_keys/${key.id}`, { body: { name: 'renamed' } });
  await rest.call('POST', `/clusters/${CLUSTER}/enrollment_keys`, {
    body: { name: 'twice' },
    headers: { 'idempotency-key': 'canary' },
  });
  await rest.call('POST', `/clusters/${CLUSTER}/enrollment_keys`, {
    body: { name: 'twice' },
    headers: { 'idempotency-key': 'canary' },
  });

  // Enrolments that fail in every way, each with real secrets in the body.
  await rest.call('POST', '/agents/enroll', { body: { ...enrollment(key.key), ports: null } });
  await rest.call('POST', '/agents/enroll', {
    body: enrollment(
      Buffer.from(JSON.stringify({ admin_urls: [url], cluster_name: CLUSTER, nonce: wrong })).toString('base64url'),
    ),
  });
  await rest.call('POST', '/agents/enroll', {
    body: { ...enrollment(key.key, agent.node), recovery_key: `${agent.node}.${wrong}` },
  });
  await rest.call('POST', '/agents/enroll', { body: enrollment(key.key, agent.node) });
  await rest.call('POST', '/agents/enroll', { body: `{"enrollment_key":"${key.key}",` });
  await rest.call('POST', '/commands', { body: `{"command_text":"${FLEET_KEYS.MASTER_KEY}` });

  await deliver(t, rest, secrets);

  // Scripts that look for what they should not see.
  const peek = await fleet.run(
    'env; tr "\\0" "\\n" </proc/$PPID/environ; tr "\\0" " " </proc/self/cmdline; ls -la; cat ../*/script; sleep 0.3',
  );
  await until('their processes', () => {
    const pids = processesWith(`EDGE_NODE_ID=${agent.node}`);
    for (const pid of pids)
      emitted.push({ place: 'the environment of a child', text: read(`/proc/${pid}/environ`), mayTell: NOTHING });
    return pids.length > 0;
  });
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/u.test(entry)))
    emitted.push({
      place: `the process list (${read(`/proc/${pid}/comm`).trim()})`,
      text: read(`/proc/${pid}/cmdline`),
      mayTell: NOTHING,
    });
  for (const { output } of await fleet.settled(peek))
    emitted.push({ place: 'an output', text: output ?? '', mayTell: NOTHING });

  const trpc = httpClient(url, FLEET_KEYS.API_KEY);
  emitted.push({
    place: 'tRPC',
    text: JSON.stringify([await trpc.list_enrollment_keys.query({}), await trpc.list_nodes.query({})]),
    mayTell: NOTHING,
  });
  const mcp = await currentClient(t, url, FLEET_KEYS.MCP_KEY);
  emitted.push({
    place: 'MCP',
    text: JSON.stringify([
      await mcp.tools(),
      await mcp.call('list_enrollment_keys'),
      await mcp.call('list_nodes'),
      await mcp.call('check_admin_health'),
    ]),
    mayTell: NOTHING,
  });
  for (const path of ['/healthz', '/health/cluster', '/api/openapi', '/', '/metrics', '/admin/debug'])
    emitted.push({ place: path, text: await (await fetch(url + path)).text(), mayTell: NOTHING });

  // The machine loses its data and recovers; the database hangs up; the admin is killed and starts again.
  await agent.kill();
  rmSync(agent.dataDirectory, { recursive: true });
  agent.start({ ENROLLMENT_KEY: key.key, RECOVERY_KEY: recovery });
  await agent.live();
  secrets.push(...identitySecrets(agent.dataDirectory));
  await fleet
    .sql(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    .catch(() => []);
  await fleet.admins[0]?.kill();
  await fleet.admins[0]?.start();
  await until('the agents', async () => (await fleet.settled(await fleet.run('true'))).length > 0, 60_000);
  for (const path of [
    '/admins/me/metrics',
    '/admins/me/metrics/raw',
    ...['host', 'agent', 'wireguard'].map((source) => `/nodes/${agent.node}/metrics/${source}/raw`),
  ])
    t.true((await rest.call('GET', path)).text.length > 500, path);
  await rest.call('DELETE', `/nodes/${other.node}`);
}

/** Webhooks with secrets, whose receivers fail in every way. */
async function deliver(t: ExecutionContext, rest: Rest, secrets: Secret[]): Promise<void> {
  const [secret, header] = [`webhook secret/+~ ${randomUUID()}`, `Bearer webhook header/+~ ${randomUUID()}`];
  secrets.push({ name: 'secret of a webhook', value: secret }, { name: 'header of a webhook', value: header });
  const seen: unknown[] = [];
  const statuses = [503, 500, 302, 404, 200];
  const receiver = createServer((request, response) => {
    seen.push(request.headers['x-api-key']);
    response
      .writeHead(statuses[seen.length % statuses.length] ?? 200, { location: 'http://127.0.0.1:1/' })
      .end('an answer');
  }).listen(0, '127.0.0.1');
  t.teardown(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  await once(receiver, 'listening');

  const webhook = {
    url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    secret,
    subscribed_events: ['edge.core.test', 'edge.command_execution.completed'],
    headers: { 'x-api-key': header },
  };
  await rest.post('/webhooks', webhook);
  // no TLS there
  await rest.post('/webhooks', { ...webhook, url: `https://127.0.0.1:${(receiver.address() as AddressInfo).port}/` });
  for (const wrong of [
    { url: secret },
    { url: 'http://169.254.169.254/' },
    { headers: { [header]: 'x' } },
    { headers: { 'content-length': header } },
    { secret: secret.repeat(20) },
    { subscribed_events: [header] },
  ])
    await rest.call('POST', '/webhooks', { body: { ...webhook, ...wrong } });
  await rest.call('POST', '/webhooks', { body: `${JSON.stringify(webhook)}}` });
  for (let event = 0; event < 4; event += 1) await rest.post('/events/test');
  const finished = await until('tries are logged', async () => {
    const deliveries = await rest.get<readonly { readonly id: string; readonly status: string }[]>(
      '/webhook_deliveries?page_size=100',
    );
    return deliveries.length >= 8 && deliveries.every(({ status }) => status !== 'pending') ? deliveries : null;
  });
  for (const { id } of finished) {
    await rest.call('GET', `/webhook_deliveries/${id}`);
    await rest.call('POST', `/webhook_deliveries/${id}/redeliver`);
  }
  await rest.get('/webhooks');
  t.true(seen.includes(header));
}

/** The fleet's API with every answer kept. */
function recorded(fleet: Fleet, emitted: Emission[]): Rest {
  const bare = restClient(() => fleet.admins[0]?.url ?? '', FLEET_KEYS.MASTER_KEY);
  const call: Rest['call'] = async (method, path, sent) => {
    const answer = await bare.call(method, path, sent);
    emitted.push({
      place: `${method} ${path}`,
      text: `${answer.text}\n${JSON.stringify([...answer.headers])}`,
      mayTell: tellable(method, path),
    });
    return answer as never;
  };
  return {
    call,
    get: async (path) => (await call('GET', path)).data as never,
    post: async (path, body) => (await call('POST', path, { ...(body !== undefined && { body }) })).data as never,
  };
}

/** Which answers tell which secrets, because that is what they are for. Source: docs/api.md. */
function tellable(method: string, path: string): RegExp {
  if (method === 'POST' && path.endsWith('/enrollment_keys/public')) return /nonce of a public key/u;
  if (method === 'POST' && path.endsWith('/enrollment_keys')) return /nonce/u;
  if (path.startsWith('/enrollment_keys/')) return /nonce/u;
  return method === 'POST' && path.endsWith('/recovery_key') ? /recovery key/u : NOTHING;
}

/** What is left when all is over: logs, and everything in the database as text. */
async function leftovers(fleet: Fleet): Promise<Emission[]> {
  const runs = [...fleet.admins, ...fleet.agents].flatMap((one) => one.runs);
  const tables = await fleet.sql<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`,
  );
  const rows = await Promise.all(
    tables.map(async ({ name }) => ({
      place: `table ${name}`,
      text: JSON.stringify(await fleet.sql(`select t::text from ${name} t`)),
      mayTell: NOTHING,
    })),
  );
  const events = JSON.stringify(await fleet.sql('select data from event'));
  return [
    ...runs.map(({ output }) => ({ place: 'a log', text: output, mayTell: NOTHING })),
    ...rows,
    { place: 'the events', text: events, mayTell: NOTHING },
  ];
}

/** What the admin gave an agent: its token and its password. */
function identitySecrets(dataDirectory: string): Secret[] {
  const { enrollment: given } = JSON.parse(read(join(dataDirectory, 'identity.json'))) as {
    enrollment: { api_token: string; proxy_password: string };
  };
  return [
    { name: 'token of an agent', value: given.api_token },
    { name: 'proxy password of an agent', value: given.proxy_password },
  ];
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return ''; // a process that ended
  }
}

function distinct(leaks: readonly Leak[]): string[] {
  return [...new Set(leaks.map(({ secret, form, place }) => `${secret} as ${form} in ${place}`))];
}
