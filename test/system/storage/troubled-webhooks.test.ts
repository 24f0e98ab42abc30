/** Which webhooks are in trouble, as rows have it: bounded, however much was given up. */
import test, { type ExecutionContext } from 'ava';
import type { Pool } from 'pg';
import type { Filter } from '../../../actors/filters.ts';
import type { OverviewWebhooks } from '../../../actors/resources/overview.ts';
import { readOverview } from '../../../persistence/overview.ts';
import { openedDatabase, readsOf } from '../../support/database/opened.ts';
import { countedReads } from '../../support/database/rows-read.ts';
import { until } from '../../support/until.ts';

async function storeWebhook(pool: Pool, url: string): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into webhook (id, url, subscribed_events, sealed_secret, sealed_headers, inserted_at, updated_at)
     values (uuidv7(), $1, '{edge.core.test}', '', '', now(), now()) returning id`,
    [url],
  );
  return rows[0]!.id;
}

interface Delivered {
  readonly count?: number;
  readonly status?: string;
  /** Since it was made, as an interval. */
  readonly made?: string;
  /** Since it changed last, as an interval. */
  readonly changed?: string;
  readonly attempts?: number;
  /** Whether it waits for its next try. */
  readonly isTriedAgain?: boolean;
  readonly code?: number | null;
}

async function storeDeliveries(pool: Pool, webhook: string, delivered: Delivered): Promise<void> {
  const { count = 1, status = 'pending', made = '0 s', changed = made } = delivered;
  const { attempts = 0, isTriedAgain = false, code = null } = delivered;
  await pool.query(
    `insert into webhook_delivery (webhook_id, event_txid, event_seq, event_id, event_type, subject, status, attempt_count, attempts_max, next_attempt_at, last_status_code, inserted_at, updated_at)
     select $1, pg_current_xact_id(), n, gen_random_uuid(), 'edge.core.test', gen_random_uuid(), $2, $3, $3 + 1, case when $4 then now() end, $5, now() - $6::interval, now() - $7::interval from generate_series(1, $8) n`,
    [webhook, status, attempts, isTriedAgain, code, made, changed, count],
  );
}

/** URLs of webhooks that the list shows, filtered so. */
async function urlsOf(opened: Parameters<typeof readsOf>[0], filter: Filter): Promise<readonly string[]> {
  const query = { filters: [filter], sort: [{ field: 'url', descending: false }], page: 1, pageSize: 50 };
  return (await readsOf(opened).list('webhooks', query)).rows.map(({ url }) => url);
}

const waiting = (): Filter => ({ field: 'waiting_since', op: 'lte', value: Date.now() - 60_000 });
const dropped = (): Filter => ({ field: 'dropped_at', op: 'gte', value: Date.now() - 3_600_000 });

/** Far more than is looked at. */
const DROPPED = 20_000;

/** Rows of deliveries that may be read where two webhooks gave up that many each. */
const READ_MAX = 5_000;

/** Two webhooks that gave up many long ago, one of them a few lately. */
async function longTrouble(t: ExecutionContext) {
  const opened = await openedDatabase(t);
  const { pool } = opened;
  for (const url of ['https://long-ago.example', 'https://lately.example'])
    await storeDeliveries(pool, await storeWebhook(pool, url), { count: DROPPED, status: 'dropped', made: '2 h' });
  const { rows } = await pool.query<{ id: string }>(`select id from webhook where url = 'https://lately.example'`);
  await storeDeliveries(pool, rows[0]!.id, { count: 3, status: 'dropped', made: '10 min', code: 410 });
  await pool.query('analyze webhook_delivery');
  return { ...opened, ...countedReads(t, pool, 'webhook_delivery'), orm: opened.orm };
}

test('however many deliveries were given up, the list of webhooks that gave up reads the latest of each', async (t) => {
  const opened = await longTrouble(t);
  let urls: readonly string[] = [];

  const read = await opened.readBy(async () => {
    urls = await urlsOf(opened, dropped());
  });

  t.deepEqual(urls, ['https://lately.example']);
  t.true(read < READ_MAX, `${read} rows`);
});

test('a webhook waits for what came, not for what is sent again by hand', async (t) => {
  const opened = await openedDatabase(t);
  const { pool } = opened;
  const old = { made: '2 d', attempts: 1 };
  await storeDeliveries(pool, await storeWebhook(pool, 'https://again.example'), { ...old, changed: '0 s' });
  await storeDeliveries(pool, await storeWebhook(pool, 'https://tried.example'), { ...old, isTriedAgain: true });
  const both = await storeWebhook(pool, 'https://both.example');
  await storeDeliveries(pool, both, { ...old, changed: '0 s' });
  await storeDeliveries(pool, both, { made: '5 min' });

  t.deepEqual(await urlsOf(opened, waiting()), ['https://both.example', 'https://tried.example']);
});

/** As the overview tells them, once a busy machine has read them within its limits. */
function troubled(pool: Pool): Promise<OverviewWebhooks> {
  return until('the webhooks in trouble', async () => (await readOverview(pool)).webhooks_in_trouble);
}

test('however many deliveries were given up, the overview names webhooks by the latest of each', async (t) => {
  const opened = await longTrouble(t);
  const { rows } = await opened.pool.query<{ id: string }>(
    `select id from webhook where url = 'https://lately.example'`,
  );
  let found: OverviewWebhooks | null = null;

  const read = await opened.readBy(async () => {
    found = await troubled(opened.pool);
  });

  t.deepEqual(found, {
    waiting: 0,
    dropped: 1,
    deliveries_counted_max: 1_000,
    named: [
      {
        id: rows[0]!.id,
        url: 'https://lately.example',
        waiting_since: null,
        waiting: 0,
        dropped: 3,
        last_status_code: 410,
        last_error: null,
      },
    ],
  });
  t.true(read < DROPPED, `${read} rows`); // also the number of all that were given up, of the 10,000 made last
});

test('five webhooks are named, those that wait the longest first, and all are counted', async (t) => {
  const { pool } = await openedDatabase(t);
  const make = async (name: string, ...deliveries: readonly Delivered[]): Promise<void> => {
    const id = await storeWebhook(pool, `https://${name}.example`);
    for (const one of deliveries) await storeDeliveries(pool, id, one);
  };
  const refused = { attempts: 1, code: 503, isTriedAgain: true };
  await make('gone-1', { status: 'dropped', made: '59 min', code: 410 });
  await make('gone-2', { status: 'dropped', made: '2 h', changed: '1 min', code: 404, count: 2 });
  await make('gone-3', { status: 'dropped', made: '1 min' });
  await make('gone-long-ago', { status: 'dropped', made: '61 min', code: 410 });
  await make('well', { made: '1 s' }, { status: 'delivered', made: '2 h', attempts: 1, code: 204 });
  await make('waits-1', { made: '5 min', ...refused, count: 1_200 }, { status: 'dropped', made: '1 min', code: 410 });
  await make('waits-2', { made: '3 h' });
  await make('waits-3', { made: '1 min', ...refused }, { status: 'dropped', made: '2 h', code: 410 });

  const { waiting, dropped: all, named } = await troubled(pool);

  t.deepEqual([waiting, all], [3, 4]);
  t.deepEqual(
    named.map(({ url, waiting: count, dropped: gone, last_status_code: code }) => [url, count, gone, code]),
    [
      ['https://waits-2.example', 1, 0, null],
      ['https://waits-1.example', 1_000, 1, 503],
      ['https://waits-3.example', 1, 0, 503],
      ['https://gone-1.example', 0, 1, 410],
      ['https://gone-2.example', 0, 2, 404],
    ],
  );
  t.deepEqual(
    named.map(({ waiting_since: since }) => since === null),
    [false, false, false, true, true],
  );
});
