/** Health's question whether the database takes writes: at most one write a second, and each answer is one of now. */
import test from 'ava';
import type { Pool } from 'pg';
import { createWriteProbe, WRITE_EVERY_MS_MIN } from '../../../../persistence/connections/write-probe.ts';

function probed() {
  const asked: string[] = [];
  const fixture = { nowMs: 0, isAway: false };
  const pool = {
    query: (text: string) => {
      asked.push(text.split(' ')[0] ?? '');
      return fixture.isAway
        ? Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNRESET' }))
        : Promise.resolve({ rows: [] });
    },
  };
  return { asked, fixture, probe: createWriteProbe(pool as unknown as Pool, () => fixture.nowMs) };
}

test('a write is made once a second; between two the database is asked a question all the same', async (t) => {
  const { asked, fixture, probe } = probed();

  const first = await Promise.all([probe.write(), probe.write()]);
  const second = await probe.write();
  fixture.nowMs = WRITE_EVERY_MS_MIN;
  const third = await probe.write();

  t.deepEqual([first, second, third], [[true, true], true, true]);
  t.deepEqual(asked, ['create', 'select', 'create']);
});

test('a database that went away since its last write is away, and what it did not answer is not remembered', async (t) => {
  const { asked, fixture, probe } = probed();
  await probe.write();

  fixture.isAway = true;
  await t.throwsAsync(() => probe.write(), { name: 'DatabaseUnavailable' });
  fixture.nowMs = WRITE_EVERY_MS_MIN;
  await t.throwsAsync(() => probe.write(), { name: 'DatabaseUnavailable' });
  fixture.isAway = false;

  t.true(await probe.write());
  t.deepEqual(asked, ['create', 'select', 'create', 'create']);
});
