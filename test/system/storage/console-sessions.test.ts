/** Sessions of the console as rows: in PostgreSQL, and in the memory of unit tests, which promise the same. */
import test from 'ava';
import { SESSION_AGE_MS_MAX, SESSION_IDLE_MS_MAX } from '../../../api/console/limits.ts';
import type { SessionRows } from '../../../api/console/ports.ts';
import { consoleSessionRows } from '../../../persistence/console-sessions.ts';
import { memorySessionRows } from '../../support/api/session-rows.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';

interface Kind {
  readonly rows: SessionRows;
  /** Lets time pass for all sessions. */
  readonly pass: (ms: number) => Promise<unknown>;
}

const KINDS: Readonly<Record<string, (t: Parameters<typeof openedDatabase>[0]) => Promise<Kind>>> = {
  PostgreSQL: async (t) => {
    const { pool } = await openedDatabase(t);
    const pass = (ms: number) =>
      pool.query(
        `update console_session set inserted_at = inserted_at - $1 * interval '1 ms', last_used_at = last_used_at - $1 * interval '1 ms'`,
        [ms],
      );
    return { rows: consoleSessionRows(pool), pass };
  },
  memory: async () => {
    const clock = createFakeClock();
    return { rows: memorySessionRows(clock), pass: async (ms) => clock.pass(ms) };
  },
};

/** Far longer than a test takes on a busy machine, as its time counts too. */
const LIMITS = { idleMsMax: 1_000_000, ageMsMax: 10_000_000, sessionsMax: 3 };
const idOf = (name: string) => `0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d${Buffer.from(name).toString('hex')}`;
const hashOf = (name: string) => Buffer.from(name.repeat(32));
const bytes = (value: Uint8Array | undefined) => Buffer.from(value ?? []).toString();

for (const [name, open] of Object.entries(KINDS)) {
  test(`${name}: a session is found by its token, used, listed, and ended once`, async (t) => {
    const { rows, pass } = await open(t);
    const create = (one: string) =>
      rows.create(
        { id: idOf(one), tokenHash: hashOf(one), keyProof: hashOf('p'), address: '192.0.2.1', userAgent: 'B' },
        LIMITS,
      );
    await create('a');
    await pass(600_000);
    await create('b');
    await pass(600_000);
    await rows.touch(idOf('a'));
    const [found] = await rows.find([hashOf('x'), hashOf('a')]);

    t.deepEqual(
      [found?.id, bytes(found?.tokenHash), bytes(found?.keyProof), found?.address, found?.userAgent],
      [idOf('a'), 'a'.repeat(32), 'p'.repeat(32), '192.0.2.1', 'B'],
    );
    t.true((found?.ageMs ?? 0) >= 1_200_000 && (found?.idleMs ?? 999_999) < 400_000);
    t.deepEqual(
      (await rows.list()).map(({ id }) => id),
      [idOf('a'), idOf('b')],
    );
    const living = async (idleMsMax: number, ageMsMax: number) =>
      (await rows.living(['a', 'b', 'x'].map(idOf), { idleMsMax, ageMsMax })).toSorted();
    t.deepEqual(await living(1_000_000, 10_000_000), [idOf('a'), idOf('b')]);
    t.deepEqual(await living(300_000, 10_000_000), [idOf('a')], 'the other one was not used for so long');
    t.deepEqual(await living(1_000_000, 900_000), [idOf('b')], 'the other one is so old');
    t.deepEqual(await rows.living([], LIMITS), []);
    t.deepEqual([await rows.remove(idOf('a')), await rows.remove(idOf('a'))], [true, false]);
    t.deepEqual(await rows.find([hashOf('a')]), []);
    t.deepEqual(await rows.find([]), []);
  });

  test(`${name}: the mark changes whenever one more lives, or one less, and not for being used`, async (t) => {
    const { rows, pass } = await open(t);
    const marks: string[] = [];
    const mark = async (): Promise<void> => void marks.push(await rows.mark(LIMITS));
    const create = (one: string) =>
      rows.create({ id: idOf(one), tokenHash: hashOf(one), keyProof: hashOf('p'), address: '', userAgent: '' }, LIMITS);

    await mark();
    await create('a');
    await mark();
    await create('b');
    await mark();
    await pass(600_000);
    await rows.touch(idOf('a'));
    const isSame = (await rows.mark(LIMITS)) === marks.at(-1);
    await pass(600_000); // b is over
    await mark();
    await rows.remove(idOf('a'));
    await mark();

    t.true(isSame);
    const [none, one, both, again, over] = marks;
    t.deepEqual([new Set([none, one, both]).size, again, over], [3, one, none]);
  });

  test(`${name}: those that are over go, and beyond the limit those that were longest unused`, async (t) => {
    const { rows, pass } = await open(t);
    const listed = async () => (await rows.list()).map(({ id }) => id).toSorted();
    for (const one of ['a', 'b', 'c', 'd']) {
      await rows.create(
        { id: idOf(one), tokenHash: hashOf(one), keyProof: hashOf('p'), address: '', userAgent: '' },
        LIMITS,
      );
      await pass(100_000); // far more than the test itself takes
    }
    t.deepEqual(await listed(), ['b', 'c', 'd'].map(idOf));

    await pass(LIMITS.idleMsMax - 200_000); // b and c are over, d is not
    await rows.create(
      { id: idOf('e'), tokenHash: hashOf('e'), keyProof: hashOf('p'), address: '', userAgent: '' },
      LIMITS,
    );
    t.deepEqual(await listed(), ['d', 'e'].map(idOf));
  });
}

test('those that are over are swept by the clock of the database, and no other one', async (t) => {
  const { pool } = await openedDatabase(t);
  const rows = consoleSessionRows(pool);
  const limits = { idleMsMax: SESSION_IDLE_MS_MAX, ageMsMax: SESSION_AGE_MS_MAX, sessionsMax: 10 };
  const age = (one: string, ageMs: number, idleMs: number) =>
    pool.query(
      `update console_session set inserted_at = now() - $2 * interval '1 ms', last_used_at = now() - $3 * interval '1 ms' where id = $1`,
      [idOf(one), ageMs, idleMs],
    );
  for (const one of ['a', 'b', 'c'])
    await rows.create(
      { id: idOf(one), tokenHash: hashOf(one), keyProof: hashOf('p'), address: '', userAgent: '' },
      limits,
    );
  await age('a', SESSION_AGE_MS_MAX - 60_000, SESSION_IDLE_MS_MAX - 60_000);
  await age('b', SESSION_IDLE_MS_MAX, SESSION_IDLE_MS_MAX);
  await age('c', SESSION_AGE_MS_MAX, 0);

  const { count } = await sweepsOf(pool).prunings.consoleSessions();

  t.is(count, 2);
  t.deepEqual(
    (await rows.list()).map(({ id }) => id),
    [idOf('a')],
  );
});
