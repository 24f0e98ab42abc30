import test from 'ava';
import { v7 } from 'uuid';
import { COMMANDS } from '../../../persistence/reads/commands.ts';
import { createPageAnchors, type PageAnchors } from '../../../persistence/reads/page-anchors.ts';
import { openedDatabase, type Opened } from '../../support/database/opened.ts';
import { storeCommands } from '../../support/database/stored-rows.ts';

const ROWS = 46_000;
const EPOCH_MS = Date.UTC(2026, 0, 1);
const ATTEMPTS_MAX = 1_000;

const idAt = (ms: number) => v7({ msecs: EPOCH_MS + ms, random: crypto.getRandomValues(new Uint8Array(16)) });

/** The row that the page anchors find at a position, asked again until they know. */
async function found(
  { pool }: Opened,
  anchors: PageAnchors,
  position: number,
): Promise<{ readonly id: string | undefined; readonly totalCount: number; readonly skip: number }> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const located = await anchors.locate(() => position);
    if (located === null) continue;
    const {
      place: { after, skip },
      totalCount,
    } = located;
    const { rows } = await pool.query<{ id: string }>(
      'select id from command where $1::uuid is null or id > $1 order by id offset $2 limit 1',
      [after, skip],
    );
    return { id: rows[0]?.id, totalCount, skip };
  }
  throw new Error('The page anchors never know.');
}

test.serial('page anchors find the row at any place, near them, whatever comes and goes', async (t) => {
  const opened = await openedDatabase(t);
  const anchors = createPageAnchors(opened.pool, COMMANDS);
  let ids = Array.from({ length: ROWS }, (_, index) => idAt(index * 2)).toSorted();
  await storeCommands(opened.pool, ids);
  const holds = async (what: string) => {
    for (const position of [0, 1, 4_999, 5_000, 5_001, 29_999, 34_444, ids.length - 1]) {
      const { id, totalCount, skip } = await found(opened, anchors, position);
      t.deepEqual([id, totalCount], [ids[position], ids.length], `${what}, at ${position}`);
      if (position < 35_000) t.true(skip < 5_000, what);
    }
  };
  await holds('at first');

  const newer = Array.from({ length: 30_000 }, (_, index) => idAt(ROWS * 2 + index));
  await storeCommands(opened.pool, newer);
  ids = [...ids, ...newer].toSorted();
  await holds('after newer rows');

  const late = [idAt(1), idAt(46_001)];
  await storeCommands(opened.pool, late);
  ids = [...ids, ...late].toSorted();
  await holds('after rows that came late');

  const gone = new Set([ids[3], ids[40_000]]);
  await opened.pool.query('delete from command where id = any($1)', [[...gone]]);
  ids = ids.filter((id) => !gone.has(id));
  await holds('after deletions');

  await opened.pool.query('delete from command where id = $1', [ids[7]]);
  const instead = idAt(60_003);
  await storeCommands(opened.pool, [instead]);
  ids = [...ids.filter((_, index) => index !== 7), instead].toSorted();
  await holds('after one went and another came elsewhere, both among page anchors');
});

test.serial('a page deep in a long list is the same from a page anchor as from an end', async (t) => {
  const opened = await openedDatabase(t);
  const ids = Array.from({ length: ROWS }, (_, index) => idAt(index)).toSorted();
  await storeCommands(opened.pool, ids);
  const page = async (number: number, descending: boolean) => {
    const { rows, totalCount } = await opened.reads.list('commands', {
      filters: [],
      sort: [{ field: 'inserted_at', descending }],
      page: number,
      pageSize: 100,
    });
    return { ids: rows.map(({ id }) => id), totalCount };
  };
  const slice = (number: number, descending: boolean) =>
    (descending ? ids.toReversed() : ids).slice((number - 1) * 100, number * 100);

  for (let round = 0; round < 20; round += 1) {
    // the first ones before there are page anchors
    for (const [number, descending] of [
      [230, true],
      [231 + round, true],
      [229 - round, false],
    ] as const)
      t.deepEqual(await page(number, descending), { ids: slice(number, descending), totalCount: ROWS });
  }
});

test.serial(
  "pages deep in a long list that are asked for at once do not wait for each other's connections",
  async (t) => {
    const opened = await openedDatabase(t);
    await storeCommands(
      opened.pool,
      Array.from({ length: ROWS }, (_, index) => idAt(index)),
    );
    const { max } = opened.pool.options;

    const pages = await Promise.all(
      Array.from({ length: 2 * max }, (_, index) =>
        opened.reads.list('commands', { filters: [], sort: [], page: 230 + index, pageSize: 100 }),
      ),
    );

    t.deepEqual(
      pages.map(({ rows }) => rows.length),
      Array.from({ length: 2 * max }, () => 100),
    );
  },
);
