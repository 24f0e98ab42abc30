/** Walks over lists that grow meanwhile. */
import test from 'ava';
import { v7 } from 'uuid';
import type { ListQuery } from '../../../actors/filters.ts';
import { openedDatabase, readsOf, type Opened } from '../../support/database/opened.ts';
import { storeCommands } from '../../support/database/stored-rows.ts';

const ROWS = 400;
const PAGE_SIZE = 20;

/** More than the rows can be pages: inserts add some. */
const PAGES_MAX = 200;

const insert = ({ pool }: Opened, count: number): Promise<void> =>
  storeCommands(
    pool,
    Array.from({ length: count }, () => v7()),
  );

/** Rows that are inserted for each page that is shown: fewer than that has, so that a walk comes to its end. */
const GROWTH = PAGE_SIZE / 2;

/** All ids that a walk from the first page to the last shows, in the order in which it shows them. */
async function walk(
  { reads }: Opened,
  sort: ListQuery['sort'],
  filters: ListQuery['filters'],
  turned: () => void,
): Promise<readonly string[]> {
  const shown: string[] = [];
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const { rows, totalCount } = await reads.list('commands', { filters, sort, page, pageSize: PAGE_SIZE });
    turned();
    shown.push(...rows.map(({ id }) => id));
    if (page * PAGE_SIZE >= totalCount) return shown;
  }
  throw new Error('the walk did not come to an end');
}

test('a first page of all rows beside which one is inserted says that there is another page', async (t) => {
  const opened = await openedDatabase(t);
  await insert(opened, PAGE_SIZE);
  const { rows: before } = await opened.pool.query<{ id: string }>('select id from command');
  const counted = Promise.withResolvers<void>();
  const ask = opened.pool.query.bind(opened.pool) as (...asked: unknown[]) => Promise<unknown>;
  let hasCounted = false;
  const between = async (...asked: unknown[]): Promise<unknown> => {
    const text = typeof asked[0] === 'string' ? asked[0] : (asked[0] as { text: string }).text;
    if (!text.includes('row_count')) {
      await counted.promise;
      return ask(...asked);
    }
    const answer = await ask(...asked);
    if (!hasCounted) await insert(opened, 1);
    hasCounted = true;
    counted.resolve();
    return answer;
  };
  const pool = new Proxy(opened.pool, {
    get: (target, name) => (name === 'query' ? between : Reflect.get(target, name, target)),
  });

  const shown = await walk({ ...opened, reads: readsOf({ orm: opened.orm, pool }) }, [], [], () => {});

  t.true(hasCounted);
  t.deepEqual(
    before.filter(({ id }) => !shown.includes(id)),
    [],
  );
});

for (const [name, sort] of [
  ['oldest first', [{ field: 'inserted_at', descending: false }]],
  ['newest first', []],
] as const) {
  for (const [which, filters] of [
    ['all rows', []],
    ['those of a filter', [{ field: 'command_text', op: 'eq', value: 'x' }]],
  ] as const) {
    test(`a walk over ${which}, ${name}, shows each that was there when it began, while others are inserted`, async (t) => {
      const opened = await openedDatabase(t);
      await insert(opened, ROWS);
      const before = (await opened.pool.query<{ id: string }>('select id from command')).rows.map(({ id }) => id);
      const walking = new AbortController();
      let room = GROWTH;
      const growing = (async () => {
        while (!walking.signal.aborted) {
          if (room > 0) await insert(opened, 1);
          room -= 1;
          await opened.pool.query('select pg_sleep(0.004)');
        }
      })();
      const turned = (): void => {
        room = GROWTH;
      };

      for (let round = 0; round < 4; round += 1) {
        const shown = await walk(opened, sort, filters, turned);
        t.deepEqual(
          before.filter((id) => !shown.includes(id)),
          [],
          `round ${round}`,
        );
        if (name === 'oldest first') t.is(new Set(shown).size, shown.length, `round ${round}: nothing is shown twice`);
      }
      walking.abort();
      await growing;
    });
  }
}
