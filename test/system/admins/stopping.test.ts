/** What ends when an admin stops, and in which order. */
import test from 'ava';
import { startTestAdmin } from '../../support/admin.ts';
import type { recordingLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import { urlOf } from '../../support/database/server.ts';
import { openPool } from '../../support/database/pool.ts';

/**
 * First the clusters go to other admins, then ends whatever begins something new, then the ways in, then what was
 * decided is stored before others may take the clusters over, and the rows last.
 */
const ORDER = [
  'clusters',
  'sweeps',
  'self-updates',
  'executions of other admins',
  'publishing',
  'requests to webhooks',
  'networks',
  'coordination of VPNs',
  'relays of admins',
  'the relay',
  'the proxies',
  'terminals',
  'tunnels',
  'sessions',
  'calls of other admins',
  'the API',
  'links to admins',
  'commits',
  'the gateway',
  'leases',
  'the observer',
  'words of other admins',
  'words to other admins',
  'the VPN manager',
  'making indexes',
  'registration',
  'the listening connection',
  'the clock',
  'database connections', // and then the traces, where they are exported
];

/** One connection by which an admin hears of other admins, of events, of VPNs, and of their members. */
const LISTENERS = 1;

function stopped(log: ReturnType<typeof recordingLog>): readonly unknown[] {
  return log.lines
    .filter(({ message }) => message === 'stopped')
    .map(({ fields }) => (fields as { what?: unknown }).what);
}

test('an admin ends its parts in one order, and each once', async (t) => {
  const admin = await startTestAdmin(t);

  await admin.stop();
  await admin.stop();

  t.deepEqual(stopped(admin.log), ORDER);
});

test('a start that fails half-way leaves nothing that listens to the database', async (t) => {
  const first = await startTestAdmin(t);
  const pool = openPool(t, { ...first.database, max: 1 });
  const listening = async (): Promise<readonly string[]> =>
    (
      await pool.query<{ query: string }>(
        `select query from pg_stat_activity where datname = current_database() and query like 'listen %' order by query`,
      )
    ).rows.map(({ query }) => query);
  await until('what one admin listens by', async () => (await listening()).length === LISTENERS);

  const error = await t.throwsAsync(
    startTestAdmin(t, {
      ADMIN_NAME: 'second',
      ADMIN_API_PORT: new URL(first.url).port,
      DATABASE_URL: urlOf(first.database),
    }),
  );

  t.is((error as NodeJS.ErrnoException).code, 'EADDRINUSE');
  await until('what one admin listens by', async () => (await listening()).length === LISTENERS);
  t.pass();
});
