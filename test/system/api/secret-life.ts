/** Everything that a fleet does with secrets, also wrongly. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { decodeEnrollmentBlob } from '../../../transport/protocol/enrollment.ts';
import { currentClient } from '../../support/api/mcp-clients.ts';
import { httpClient } from '../../support/api/trpc-clients.ts';
import type { Secret } from '../../support/canary.ts';
import { CLUSTER, type Fleet, type FLEET_KEYS } from '../../support/fleet.ts';
import { processesWith } from '../../support/fleet/agent-program.ts';
import { enrollment } from '../../support/fleet/raw-agent.ts';
import type { Rest } from '../../support/fleet/rest.ts';
import { until } from '../../support/until.ts';

/** Something that came out, and the secrets that it may hold because it was made to tell them. */
export interface Emission {
  readonly place: string;
  readonly text: string;
  readonly mayTell: RegExp;
}

/** Of what may tell no secret. */
export const NOTHING = /^$/u;

/** Something that came out, and that may tell no secret. */
export function emission(place: string, text: string): Emission {
  return { place, text, mayTell: NOTHING };
}

/** A fleet whose keys are its own. */
export interface SecretFleet {
  readonly fleet: Fleet;
  readonly rest: Rest;
  readonly keys: Readonly<Record<keyof typeof FLEET_KEYS, string>>;
}

/** Does it. Secrets that come up are added to `secrets`, and what comes out beside answers to `emitted`. */
export async function liveWithSecrets(
  t: ExecutionContext,
  { fleet, rest, keys }: SecretFleet,
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
  for (const scoped of Object.values(keys))
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
  const twice = { body: { name: 'twice' }, headers: { 'idempotency-key': 'canary' } };
  for (const _ of [1, 2]) await rest.call('POST', `/clusters/${CLUSTER}/enrollment_keys`, twice);

  // Enrolments that fail in every way, each with real secrets in the body.
  const unknown = Buffer.from(JSON.stringify({ admin_urls: [url], cluster_name: CLUSTER, nonce: wrong }));
  for (const body of [
    { ...enrollment(key.key), ports: null },
    enrollment(unknown.toString('base64url')),
    { ...enrollment(key.key, agent.node), recovery_key: `${agent.node}.${wrong}` },
    enrollment(key.key, agent.node),
    `{"enrollment_key":"${key.key}",`,
  ])
    await rest.call('POST', '/agents/enroll', { body });
  await rest.call('POST', '/commands', { body: `{"command_text":"${keys.MASTER_KEY}` });

  await deliver(t, rest, secrets);

  // Scripts that look for what they should not see.
  const seen = join(fleet.directory, 'seen');
  const peek = await fleet.run(
    `env; tr "\\0" "\\n" </proc/$PPID/environ; tr "\\0" " " </proc/self/cmdline; ls -la; cat ../*/script; while [ ! -e ${seen} ]; do sleep 0.05; done`,
  );
  await until('their processes', () => {
    const pids = processesWith(`EDGE_NODE_ID=${agent.node}`);
    for (const pid of pids) emitted.push(emission('the environment of a child', read(`/proc/${pid}/environ`)));
    return pids.length > 0;
  });
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/u.test(entry)))
    emitted.push(emission(`the process list (${read(`/proc/${pid}/comm`).trim()})`, read(`/proc/${pid}/cmdline`)));
  writeFileSync(seen, '');
  for (const { output } of await fleet.settled(peek)) emitted.push(emission('an output', output ?? ''));

  const trpc = httpClient(url, keys.API_KEY);
  const lists = [await trpc.list_enrollment_keys.query({}), await trpc.list_nodes.query({})];
  emitted.push(emission('tRPC', JSON.stringify(lists)));
  const mcp = await currentClient(t, url, keys.MCP_KEY);
  const called: unknown[] = [await mcp.tools()];
  for (const tool of ['list_enrollment_keys', 'list_nodes', 'check_admin_health']) called.push(await mcp.call(tool));
  emitted.push(emission('MCP', JSON.stringify(called)));
  for (const path of ['/healthz', '/health/cluster', '/api/openapi', '/', '/metrics', '/admin/debug'])
    emitted.push(emission(path, await (await fetch(url + path)).text()));

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
    await t.notThrowsAsync(until(path, async () => (await rest.call('GET', path)).text.length > 500));
  await rest.call('DELETE', `/nodes/${other.node}`);
}

/** Webhooks with secrets, whose receivers fail in every way. */
async function deliver(t: ExecutionContext, rest: Rest, secrets: Secret[]): Promise<void> {
  const [secret, header] = [`webhook secret/+~ ${randomUUID()}`, `Bearer webhook header/+~ ${randomUUID()}`];
  const [password, control] = [`url-password-${randomUUID()}`, `wrong-header-${randomUUID()}\u0007`];
  secrets.push(
    { name: 'secret of a webhook', value: secret },
    { name: 'header of a webhook', value: header },
    { name: 'password in a URL', value: password },
    { name: 'wrong header', value: control },
  );
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
    { url: `https://user:${password}@receiver.test/` },
    { headers: { 'x-api-key': control } },
    { secret: [secret] },
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

/** What the admin gave an agent: its token and its password. */
export function identitySecrets(dataDirectory: string): Secret[] {
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
