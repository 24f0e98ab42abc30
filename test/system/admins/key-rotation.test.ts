/**
 * ENCRYPTION_KEY is rotated beneath two admins in use, one restarted after the other, and one killed while it seals.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { Client } from 'pg';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import { idempotencyRecord } from '../../../actors/sealed-columns.ts';
import { createVault } from '../../../persistence/vault.ts';
import { hangAfter } from '../../support/busy.ts';
import { createDatabase } from '../../support/database/database.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { prepareAdmin } from '../../support/fleet/admin-program.ts';
import { callingClients } from '../../support/fleet/clients.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { answers, openReceiver } from '../../support/webhooks/receiver.ts';
import { urlOf } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';

const TEST_MS_MAX = 300_000;

/** A rotation takes 35 s and what sealing takes. */
const ROTATED_MS_MAX = 120_000;

/** Answers that are stored besides: enough that an admin can be killed amid them. */
const RECORDS = 4_000;

const SEALS = 'the new ENCRYPTION_KEY seals from now on: what is under the former one is sealed anew';
const DONE =
  'nothing is sealed under a former ENCRYPTION_KEY any more: take it out of ENCRYPTION_KEYS_OLD, and keep it with the backups from before';

test('two admins rotate to a new ENCRYPTION_KEY without a failed call or a lost secret, even if one is killed', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const [old, next] = [randomBytes(32), randomBytes(32)];
  const [OLD, NEW] = [old.toString('base64'), next.toString('base64')];
  const env = { ENCRYPTION_KEY: OLD, WEBHOOK_ALLOW_PRIVATE_IPS: 'true', ADMIN_BALANCE_AFTER_MS: '1s' };
  const connection = await createDatabase(t);
  const fleet = await startFleet(t, { admins: 2, agents: 1, env, connection });
  const { admins } = fleet;
  const receiver = await openReceiver(t);
  const endpoint = receiver.endpoint(answers(200));
  await fleet.rest.post('/webhooks', {
    url: endpoint.url,
    secret: 'a-secret-with-more-than-32-characters',
    subscribed_events: ['edge.command_execution.completed'],
  });
  const first = await fleet.key({ name: 'first' });
  const vault = createVault(old);
  const ids = Array.from({ length: RECORDS }, () => randomUUID());
  await fleet.sql(
    `insert into idempotency_key (scope, key, body_hash, sealed_answer) select 'test', id, 'sealed', sealed from unnest($1::text[], $2::text[]) as v(id, sealed)`,
    [ids, ids.map((id) => vault.seal(id, idempotencyRecord('test', id)))],
  );
  // a row that somebody holds is left under the former key for as long: no admin is done before the test has looked
  const holder = new Client(connection);
  await holder.connect();
  t.teardown(() => holder.end());
  await holder.query('begin');
  await holder.query(`select from idempotency_key where scope = 'test' and key = $1 for update`, [ids[0]]);
  const rests = admins.map(({ url }) => restClient(() => url, FLEET_KEYS.MASTER_KEY));
  const made: EnrollmentKeyResource[] = [first];
  const clients = callingClients(
    rests,
    (count) =>
      count % 4 === 0
        ? { method: 'POST', path: '/clusters/fleet/enrollment_keys', body: {} }
        : { method: 'GET', path: `/enrollment_keys/${made[count % made.length]?.id}` },
    ({ method }, answer) => {
      if (method === 'POST') made.push(answer.data as EnrollmentKeyResource);
    },
  );
  const restart = async (place: number, changed: Readonly<Record<string, string>>) => {
    fleet.admin(place).program.terminate();
    await fleet.admin(place).program.ended();
    await fleet.admin(place).start({ ...env, ...changed });
  };
  const said = (message: string) =>
    admins.flatMap(({ runs }) => runs.flatMap((run) => run.lines())).filter(({ msg }) => msg === message);

  // the first with both keys seals with the former one still, as the second knows no other
  await restart(0, { ENCRYPTION_KEY: NEW, ENCRYPTION_KEYS_OLD: OLD });
  const between = await fleet.key({ name: 'between' });
  t.is(said(SEALS).length, 0);
  await restart(1, { ENCRYPTION_KEY: NEW, ENCRYPTION_KEYS_OLD: OLD });
  const sealing = await until('the new key to seal', () =>
    admins.find(({ program }) => program.lines().some(({ msg }) => msg === SEALS)),
  );
  await sealing.kill();
  const left = await fleet.sql<{ sealed: string; key: string }>(
    `select key, sealed_answer as sealed from idempotency_key where scope = 'test'`,
  );
  const reader = createVault(next, [old]);
  const under = Map.groupBy(left, ({ key, sealed }) => reader.keyOf(sealed, idempotencyRecord('test', key)));
  t.log(`killed when ${under.get(reader.wanted)?.length ?? 0} of ${RECORDS} records were sealed anew`);
  t.is(under.get(null), undefined);

  // without the former key nothing starts yet
  const early = await prepareAdmin(t, 'early', {
    ...FLEET_KEYS,
    ...env,
    DATABASE_URL: urlOf(connection),
    ENCRYPTION_KEY: NEW,
  });
  await t.throwsAsync(early.start(), { message: /still sealed under a former ENCRYPTION_KEY/u });
  await holder.query('commit');
  await sealing.start({ ...env, ENCRYPTION_KEY: NEW, ENCRYPTION_KEYS_OLD: OLD });
  await until('all to be sealed anew', () => said(DONE).length > 0, ROTATED_MS_MAX);

  for (const place of [0, 1]) await restart(place, { ENCRYPTION_KEY: NEW });
  const counts = await clients.stop();
  t.deepEqual(counts.failed, []);
  t.log(`${counts.calls} calls, ${counts.retried} of them answered by the retry; ${made.length} keys made`);
  for (const { id, key } of [...made, between])
    t.is((await rests[1]!.get<EnrollmentKeyResource>(`/enrollment_keys/${id}`)).key, key);
  const after = createVault(next);
  const rows = await fleet.sql<{ sealed: string; key: string }>(
    `select key, sealed_answer as sealed from idempotency_key where scope = 'test'`,
  );
  t.is(rows.length, RECORDS);
  t.true(rows.every(({ key, sealed }) => after.open(sealed, idempotencyRecord('test', key)) === key));
  await fleet.settled(await fleet.run('echo done'));
  await until('the webhook to be told', () => endpoint.arrivals.length > 0);
  const late = await prepareAdmin(t, 'late', { ...FLEET_KEYS, ...env, DATABASE_URL: urlOf(connection) });
  await t.throwsAsync(late.start(), { message: /Neither ENCRYPTION_KEY nor one of ENCRYPTION_KEYS_OLD is the key/u });
  t.deepEqual(
    admins.flatMap(({ runs }) => runs.flatMap((run) => run.lines())).filter(({ level }) => level === 'error'),
    [],
  );
});
