/** Bodies of events: what is sent is what the catalogue says, byte for byte, read once for all who send it. */
import test from 'ava';
import type { Pool, QueryResult } from 'pg';
import { envelope, type EventType } from '../../../../actors/events.ts';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { BATCH_BYTES_MAX } from '../../../../persistence/publishing/broker-rows.ts';
import { createEventBodies, KEPT_BYTES_MAX } from '../../../../persistence/publishing/event-bodies.ts';
import { createRecords } from '../../../../persistence/ownership/ownerless-writes.ts';
import { openedDatabase } from '../../../support/database/opened.ts';
import { column } from '../../../support/database/columns.ts';
import { storeEvent } from './fixture.ts';

/** A pool that counts statements, and the bytes of data that each of them read, or fails. */
function counted(pool: Pool) {
  const counter = { statements: 0, isAway: false, statementsMax: Infinity, bytes: [] as number[] };
  const query = async (...args: readonly unknown[]) => {
    counter.statements += 1;
    if (counter.isAway || counter.statements > counter.statementsMax) throw new DatabaseUnavailable('away');
    const answer = await (pool.query.bind(pool) as (...args: readonly unknown[]) => Promise<QueryResult>)(...args);
    counter.bytes.push(
      (answer.rows as { data: string | null }[]).reduce((sum, { data }) => sum + (data?.length ?? 0), 0),
    );
    return answer;
  };
  return { counter, pool: { query } as unknown as Pool };
}

const TEXTS = [
  'ünïcode 日本語 😀',
  'quotes " \\ / and \b\f\n\r\t',
  '</script><!--',
  '\u2028\u2029',
  '\u{1F468}\u200D\u{1F469}',
  '\u007F\u0080',
  '\0',
  '\uD800 alone',
  '',
  ' ',
  '{"a":1}',
  String.raw`\u0041`,
];

test('a body is the JSON of the envelope, byte for byte, whatever stands in it', async (t) => {
  const { pool } = await openedDatabase(t);
  const bodyOf = createEventBodies(pool, 'core "ü"');

  for (const message of TEXTS) {
    const stored = await createRecords(pool).publish({
      type: 'edge.core.test',
      subject: crypto.randomUUID(),
      atMs: Date.UTC(2026, 0, 1, 0, 0, 0, 7),
      data: { message, requested_at: '2026-01-01T00:00:00.000Z' },
    });

    t.deepEqual(await bodyOf(stored.cursor), new TextEncoder().encode(JSON.stringify(envelope(stored, 'core "ü"'))));
  }
});

test('an event that is gone has no body, nor has what is no cursor', async (t) => {
  const { pool } = await openedDatabase(t);
  const bodyOf = createEventBodies(pool, 'default');
  const cursor = await storeEvent(pool);
  await pool.query('delete from event');

  t.deepEqual(await Promise.all([bodyOf(cursor), bodyOf('1-1'), bodyOf('nonsense')]), [null, null, null]);
});

test('those asked for together are read together, and once for all', async (t) => {
  const opened = await openedDatabase(t);
  const { counter, pool } = counted(opened.pool);
  const bodyOf = createEventBodies(pool, 'default');
  const cursors = [await storeEvent(opened.pool), await storeEvent(opened.pool), await storeEvent(opened.pool)];

  const bodies = await Promise.all([...cursors, ...cursors, ...cursors].map((cursor) => bodyOf(cursor)));
  await opened.pool.query('delete from event');

  t.is(new Set(bodies).size, 3); // the very same bytes
  t.deepEqual(await Promise.all(cursors.map((cursor) => bodyOf(cursor))), bodies.slice(0, 3)); // kept
  t.is(counter.statements, 1);
});

/** Stores events whose data are of these sizes, in bytes: their cursors. */
async function storeSized(pool: Pool, sizes: readonly number[]): Promise<readonly string[]> {
  const cursors: string[] = [];
  for (const size of sizes)
    cursors.push(await storeEvent(pool, undefined, { data: JSON.stringify('x'.repeat(size - 2)) }));
  return cursors;
}

test('large bodies that are asked for together are read in statements of bounded size, an oversized body alone', async (t) => {
  const opened = await openedDatabase(t);
  const { counter, pool } = counted(opened.pool);
  const bodyOf = createEventBodies(pool, 'default');
  const [half, third] = [BATCH_BYTES_MAX / 2, Math.floor(BATCH_BYTES_MAX / 3)];
  const cursors = await storeSized(opened.pool, [half, third, third, BATCH_BYTES_MAX + 1, third, half]);

  const bodies = await Promise.all([...cursors, '1-1'].map((cursor) => bodyOf(cursor)));

  t.deepEqual(counter.bytes, [half + third, third, BATCH_BYTES_MAX + 1, third + half]);
  t.deepEqual(
    bodies.map((body) => body?.byteLength),
    await Promise.all(
      [...cursors, '1-1'].map(async (cursor) => (await createEventBodies(opened.pool, 'default')(cursor))?.byteLength),
    ),
  );
});

test('what was read is answered, whatever becomes of those that did not fit', async (t) => {
  const opened = await openedDatabase(t);
  const { counter, pool } = counted(opened.pool);
  const bodyOf = createEventBodies(pool, 'default');
  const cursors = await storeSized(opened.pool, [BATCH_BYTES_MAX / 2, BATCH_BYTES_MAX / 2, 100]);
  counter.statementsMax = 1;

  const ended = await Promise.allSettled(cursors.map((cursor) => bodyOf(cursor)));

  t.deepEqual(column(ended, 'status'), ['fulfilled', 'fulfilled', 'rejected']);
});

test('one that could not be read is read again', async (t) => {
  const opened = await openedDatabase(t);
  const { counter, pool } = counted(opened.pool);
  const bodyOf = createEventBodies(pool, 'default');
  const cursor = await storeEvent(opened.pool);
  counter.isAway = true;

  await t.throwsAsync(bodyOf(cursor), { instanceOf: DatabaseUnavailable });
  counter.isAway = false;

  t.regex(new TextDecoder().decode((await bodyOf(cursor)) ?? undefined), /edge\.core\.test/u);
});

test('what is kept is bounded: the oldest goes, and one that is larger than all of it too', async (t) => {
  const opened = await openedDatabase(t);
  const { counter, pool } = counted(opened.pool);
  const bodyOf = createEventBodies(pool, 'default');
  const type: EventType = 'edge.core.test';
  const third = JSON.stringify({ message: 'x'.repeat(Math.floor(KEPT_BYTES_MAX / 3)) });
  const cursors = [];
  for (let event = 0; event < 3; event += 1)
    cursors.push(await storeEvent(opened.pool, undefined, { type, data: third }));

  for (const cursor of cursors) await bodyOf(cursor); // together slightly more than is kept
  counter.statements = 0;
  for (const cursor of cursors.toReversed()) await bodyOf(cursor);

  t.is(counter.statements, 1);
});
