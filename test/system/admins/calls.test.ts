/** Calls between real admins on one database. */
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createBus } from '../../../actors/bus.ts';
import { openDatabase } from '../../../persistence/connections/database.ts';
import { Leases } from '../../../persistence/ownership/leases.ts';
import { createVault } from '../../../persistence/vault.ts';
import { openAdminLinks } from '../../../transport/admins/open-admin-links.ts';
import { systemClock } from '../../../transport/net/clock.ts';
import { ENCRYPTION_KEY, startTestAdmin, type TestAdmin } from '../../support/admin.ts';
import { registryOf } from '../../support/admin-registry.ts';
import { callOf, noSignal, NO_TEXTS } from '../../support/linked-admins.ts';
import { silentLog } from '../../support/log.ts';
import type { Scope } from '../../support/scope.ts';
import { urlOf, type TestConnection } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';

/** An admin beside another one, on its database. */
async function second(t: Scope, first: TestAdmin, env: Readonly<Record<string, string>> = {}): Promise<TestAdmin> {
  const scope = { teardown: (task: () => Promise<void>) => t.teardown(task) };
  return await startTestAdmin(scope, { ADMIN_NAME: 'second', DATABASE_URL: urlOf(first.database), ...env });
}

/** One that checks in and calls others, and serves nobody. */
async function caller(t: Scope, connection: TestConnection) {
  const database = await openDatabase({ connection, poolMax: 3, log: silentLog });
  t.teardown(() => database.close());
  const registry = registryOf(database, 'caller', { peerUrl: '' });
  const leases = new Leases(database.pool);
  const adminId = await registry.checkIn();
  const links = openAdminLinks(
    { MAX_BODY_BYTES: 1_048_576 },
    {
      adminId,
      instanceId: registry.instanceId,
      vault: createVault(Buffer.from(ENCRYPTION_KEY, 'base64')),
      texts: NO_TEXTS,
      onAdmins: (listener) => leases.onSurvey(listener),
      clock: systemClock,
      bus: createBus(silentLog),
      news: createBus(silentLog),
      log: silentLog,
    },
  );
  t.teardown(() => links.close());
  return {
    async idOf(name: string): Promise<string | undefined> {
      await registry.checkIn();
      return (await leases.survey()).admins.find((admin) => admin.name === name)?.id;
    },
    call: (id: string, operation: string) => links.calls.call(id, callOf({ operation }), noSignal()),
  };
}

test('admins of one database find each other and say so, and any of them may be called by another', async (t) => {
  const first = await startTestAdmin(t);
  const other = await second(t, first);

  const lines = await Promise.all([first, other].map(({ log }) => log.seen(/^an admin is reached now$/u)));
  const third = await caller(t, first.database);
  const answers = await Promise.all(
    ['test', 'second'].map((name) =>
      until(`an answer of ${name}`, async () => {
        const id = await third.idOf(name);
        const answer = id === undefined ? null : await third.call(id, `no_such_operation_${randomUUID()}`);
        return answer?.type === 'lost' ? null : answer;
      }),
    ),
  );

  t.deepEqual(
    lines.map(({ fields }) => fields),
    [{ admin: 'second' }, { admin: 'test' }],
  );
  t.deepEqual(answers, [{ type: 'unknown_operation' }, { type: 'unknown_operation' }]);
});

test('an admin whose address for others leads to somebody else is named in the log of those', async (t) => {
  const first = await startTestAdmin(t);
  const elsewhere = first.url.replace('127.0.0.1', 'localhost'); // another name of the same place, as a balancer has
  await second(t, first, { ADMIN_PEER_URL: elsewhere });

  const { fields } = await first.log.seen(/^the address of an admin leads to another one/u);

  t.deepEqual(fields, { admin: 'second', url: elsewhere, setting: 'ADMIN_PEER_URL' });
});
