/** E4: no secret is ever in a response, log, event, row, process list or child environment. */
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { hangAfter } from '../../support/busy.ts';
import { leaksIn, type Leak, type Secret } from '../../support/canary.ts';
import { CLUSTER, FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { restClient, settledAnswer, type Rest } from '../../support/fleet/rest.ts';
import { UpdaterDouble } from '../../support/agent/updater-double.ts';
import { until } from '../../support/until.ts';
import { startOtlpCollector } from '../../support/observability/otlp-collector.ts';
import { exportingTo } from '../../support/observability/traces.ts';
import { emission, identitySecrets, liveWithSecrets, NOTHING, type Emission } from './secret-life.ts';

test('no secret is in any answer, log, event, row, process list or environment of a child', async (t) => {
  t.timeout(hangAfter(120_000));
  const databasePassword = `database-password-${randomBytes(12).toString('hex')}`;
  const encryptionKey = randomBytes(32);
  // Its own: clients of other tests show that of all fleets on their command lines.
  const keys = ownKeys();
  const collector = await startOtlpCollector(t);
  const collectorKey = `collector-key-${randomBytes(12).toString('hex')}`;
  // An updater that tells what it was shown.
  const updaterToken = `updater-token-${randomBytes(12).toString('hex')}`;
  const updater = await UpdaterDouble.start(t, {
    '/v1/update': ({ authorization }) => ({ status: 500, body: { error: `not for ${authorization}` } }),
  });
  const fleet = await startFleet(t, {
    agents: 2,
    env: {
      ...exportingTo(collector.url),
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${collectorKey}`,
      ...keys,
      ENCRYPTION_KEY: encryptionKey.toString('base64'),
      LOG_LEVEL: 'debug',
      PUBLIC_ENROLLMENT_KEY_ENABLED: 'true',
      DEFAULT_CLUSTER_NAME: CLUSTER,
      AUTH_FAILURES_PER_MINUTE_MAX: '100000',
      WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
      WEBHOOK_RETRY_BASE_MS: '50',
    },
    agentEnv: { ...updater.settings(), AGENT_UPDATER_TOKEN: updaterToken, LOG_LEVEL: 'debug' },
    databasePassword,
  });
  const secrets: Secret[] = [
    ...Object.entries(keys).map(([name, value]) => ({ name, value })),
    { name: 'ENCRYPTION_KEY', value: encryptionKey },
    { name: 'the password of the database', value: databasePassword },
    { name: 'the key of the trace collector', value: collectorKey },
    { name: 'AGENT_UPDATER_TOKEN', value: updaterToken },
    ...fleet.agents.flatMap((agent) => identitySecrets(agent.dataDirectory)),
  ];
  const emitted: Emission[] = [];
  const rest = recorded(fleet, keys.MASTER_KEY, emitted);

  await rest.post('/self_update_requests', { targeting: { type: 'all' } });
  await until('an update that fails', () => updater.of('/v1/update').length > 0);
  t.is(updater.asks[0]?.authorization, `Bearer ${updaterToken}`);
  await liveWithSecrets(t, { fleet, rest, keys }, secrets, emitted);
  for (const { program } of fleet.agents) program.terminate();
  await Promise.all(fleet.agents.map(({ program }) => program.ended()));
  fleet.admins[0]?.program.terminate();
  await fleet.admins[0]?.program.ended();

  emitted.push(...(await leftovers(fleet)), emission('spans', JSON.stringify(collector.spans)));
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

/** A value of its own for each key of the fleet. */
function ownKeys(): Record<keyof typeof FLEET_KEYS, string> {
  const made = Object.keys(FLEET_KEYS).map((name) => [
    name,
    `${name.toLowerCase()}-${randomBytes(12).toString('hex')}`,
  ]);
  return Object.fromEntries(made) as Record<keyof typeof FLEET_KEYS, string>;
}

/** The fleet's API with every answer kept. */
function recorded(fleet: Fleet, masterKey: string, emitted: Emission[]): Rest {
  const bare = restClient(() => fleet.admins[0]?.url ?? '', masterKey);
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
    get: async (path) => (await settledAnswer(() => call('GET', path))).data as never,
    post: async (path, body) =>
      (await settledAnswer(() => call('POST', path, { ...(body !== undefined && { body }) }))).data as never,
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
    tables.map(async ({ name }) =>
      emission(`table ${name}`, JSON.stringify(await fleet.sql(`select t::text from ${name} t`))),
    ),
  );
  const events = JSON.stringify(await fleet.sql('select data from event'));
  return [...runs.map(({ output }) => emission('a log', output)), ...rows, emission('the events', events)];
}

function distinct(leaks: readonly Leak[]): string[] {
  return [...new Set(leaks.map(({ secret, form, place }) => `${secret} as ${form} in ${place}`))];
}
