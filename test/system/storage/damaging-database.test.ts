/** A database whose answers are damaged while an admin works: no process ends, and what was acknowledged is stored. */
import test from 'ava';
import { ADMIN_KEYS, ENCRYPTION_KEY } from '../../support/admin.ts';
import { hangAfter } from '../../support/busy.ts';
import { openDamagingDatabase } from '../../support/database/damaging-database.ts';
import { createDatabase } from '../../support/database/database.ts';
import { Program } from '../../support/fleet/program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { openPool } from '../../support/database/pool.ts';

/** Answers that are damaged, one of so many, while so many callers create. */
const DAMAGED = 200;
const EVERY = 40;
const CONCURRENCY = 6;

test(`an admin survives ${DAMAGED} damaged answers of its database, and loses nothing that it acknowledged`, async (t) => {
  t.timeout(hangAfter(60_000));
  const connection = await createDatabase(t);
  const database = await openDamagingDatabase(t, connection, 20_261_130);
  const program = Program.start(t, 'edge-admin', ['serve'], {
    ...ADMIN_KEYS,
    ENCRYPTION_KEY,
    DATABASE_URL: database.url,
    ADMIN_API_HOST: '127.0.0.1',
    ADMIN_API_PORT: '0',
    ADMIN_PROXY_HOST: '127.0.0.1',
    ADMIN_HTTP_PROXY_PORT: '0',
    ADMIN_SOCKS5_PROXY_PORT: '0',
    ADMIN_OBSERVER_PORT: '0',
    ADMIN_GATEWAY_ENABLED: 'false',
  });
  const { url } = await program.logged('edge-admin is ready');
  const rest = restClient(() => String(url), ADMIN_KEYS.MASTER_KEY);
  const statuses = new Map<number, number>();
  const acknowledged: string[] = [];
  const create = async (): Promise<void> => {
    const { status, data } = await rest.call<{ id: string }>('POST', '/commands', {
      body: { command_text: 'true', targeting: { type: 'all' } },
    });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status === 201) acknowledged.push(data.id);
  };

  database.damageEvery(EVERY);
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      while (database.damaged() < DAMAGED) await create();
    }),
  );
  database.damageEvery(null);
  acknowledged.push(
    (await rest.post<{ id: string }>('/commands', { command_text: 'true', targeting: { type: 'all' } })).id,
  );

  t.log(Object.fromEntries(statuses));
  t.is(program.exit, null, program.output.slice(-2_000));
  const { rows } = await openPool(t, connection).query<{ id: string }>('select id from command');
  const stored = new Set(rows.map(({ id }) => id));
  t.deepEqual(
    acknowledged.filter((id) => !stored.has(id)),
    [],
  );
  t.true(acknowledged.length > 10, `${acknowledged.length}`);
});
