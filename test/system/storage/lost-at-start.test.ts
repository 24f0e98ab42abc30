/** A database that is lost while an admin starts: whatever it was asked then, the start goes on when it is back. */
import test from 'ava';
import { startAdmin } from '../../../main.ts';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import { openDatabase } from '../../../persistence/connections/database.ts';
import { ADMIN_KEYS, adminConfig, ENCRYPTION_KEY } from '../../support/admin.ts';
import { hangAfter, scaled } from '../../support/busy.ts';
import { createDatabase } from '../../support/database/database.ts';
import { Program } from '../../support/fleet/program.ts';
import { openFragileDatabase, type Losing } from '../../support/database/fragile-database.ts';
import { silentLog } from '../../support/log.ts';
import type { Scope } from '../../support/scope.ts';

/** A start takes some 0.3 s, in ms. */
const START_MS_MAX = 5_000;

/** Starts at once: each of them mostly waits before its next try. */
const CONCURRENCY = 4;

/** What a new database is asked: its first statements of its own, each tried, and migrations, of which some are. */
const NEW_FROM = 8;
const EACH_UNTIL = 12;
const STRIDE = 83;

/** In the midst of those migrations. */
const LOST_AT = 100;

/** Every second time the server did what it was asked, and could not say so. */
const losingAt = (moment: number): Losing => (moment % 2 === 0 ? 'unanswered' : 'unheard');

test('an admin becomes ready whichever statement of its start the database is lost at', async (t) => {
  t.timeout(hangAfter(90_000));
  let moments = 0;
  let isWalked = false;
  const walk = async (): Promise<void> => {
    const database = await openFragileDatabase(t, await createDatabase(t));
    while (!isWalked) {
      const moment = (moments += 1);
      database.loseAt(moment, losingAt(moment));
      const admin = await startAdmin(
        adminConfig(database.url),
        silentLog,
        AbortSignal.timeout(scaled(hangAfter(START_MS_MAX))),
      );
      isWalked ||= database.asked.length < moment; // it was ready before
      await admin.stop();
    }
  };

  await Promise.all(Array.from({ length: CONCURRENCY }, walk));

  t.true(moments > 50, `${moments}`);
});

test('a new database that is lost while its schema is made is told to be away, and made by the next try', async (t) => {
  t.timeout(hangAfter(15_000));
  const fragile = await openFragileDatabase(t, await createDatabase(t, { schema: 'empty' }));
  const migrate = async (): Promise<void> => {
    const database = await openDatabase({ connection: { url: fragile.url }, poolMax: 2, log: silentLog });
    try {
      await database.migrate();
    } finally {
      await database.close();
    }
  };

  let lost = 0;
  for (let moment = NEW_FROM; ; moment += moment < EACH_UNTIL ? 1 : STRIDE) {
    fragile.loseAt(moment, losingAt(moment));
    const error = await migrate().then(
      () => null,
      (reason: unknown) => reason,
    );
    if (error === null) break;
    lost += 1;
    t.true(error instanceof DatabaseUnavailable, `${moment}`);
  }

  t.true(lost > EACH_UNTIL - NEW_FROM + 1, `${lost}`);
  await t.notThrowsAsync(migrate());
});

test('edge-admin serve goes on where its new database is lost while the schema is made', async (t) => {
  t.timeout(hangAfter(60_000));
  const { database, program } = await serving(t, LOST_AT);

  await program.logged('edge-admin is ready');

  t.deepEqual(
    ['begin', 'commit'].map((asked) => database.asked.slice(0, LOST_AT).includes(asked)),
    [true, false],
  );
  program.terminate();
  t.deepEqual(await program.ended(), { code: 0, signal: null });
});

/** The program, on an empty database that is lost when so many things were asked, and is not back at once. */
async function serving(scope: Scope, moment: number) {
  const database = await openFragileDatabase(scope, await createDatabase(scope, { schema: 'empty' }));
  database.loseAt(moment, 'unheard', 3);
  const program = Program.start(scope, 'edge-admin', ['serve'], {
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
  return { database, program };
}
