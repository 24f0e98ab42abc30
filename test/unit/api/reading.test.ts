/** Reads as results. */
import test from 'ava';
import { DatabaseUnavailable, ListTooLong } from '../../../actors/ports.ts';
import { ok, refuse } from '../../../actors/refusal.ts';
import { page } from '../../../api/reading.ts';

test('a list that is too long for its filters is a mistake of the caller, and says what to add; a lost database is none', async (t) => {
  const long = new ListTooLong('command_id', new Error('canceling statement due to statement timeout'));
  const lost = new DatabaseUnavailable('lost');

  t.deepEqual(
    await page(Promise.reject(long)),
    refuse('bad_request', 'The list is too long for these filters: add command_id.'),
  );
  t.is(await t.throwsAsync(page(Promise.reject(lost))), lost);
  t.deepEqual(await page(Promise.resolve({ rows: [], totalCount: 0 })), ok({ rows: [], totalCount: 0 }));
});
