/** The link between two admins while ENCRYPTION_KEY is rotated: each hears by every key that it has. */
import test from 'ava';
import { callOf, DONE, LINK_KEY, noSignal, startLinked, type LinkedAdmin } from '../../../support/linked-admins.ts';
import { until } from '../../../support/until.ts';

const NEW_KEY = Buffer.from('encryption-key-of-32-bytes-newer');

/** They know each other. */
function meet(a: LinkedAdmin, b: LinkedAdmin): void {
  a.saw(a.row, b.row);
  b.saw(a.row, b.row);
}

const call = (from: LinkedAdmin, to: LinkedAdmin) => from.links.calls.call(to.id, callOf(), noSignal());

test('calls and news go both ways between admins of which one has the new key only beside the former', async (t) => {
  const newer = await startLinked(t, 'newer', { key: NEW_KEY, former: [LINK_KEY] });
  const older = await startLinked(t, 'older');
  newer.vault.sealWith(older.vault.wanted); // what the database is sealed under, which older knows alone
  meet(newer, older);

  for (const { links } of [newer, older]) links.news.want('feeds', { nodes: true, commands: new Set() });
  const outcomes = [await call(newer, older), await call(older, newer)];

  t.deepEqual(outcomes, [DONE, DONE]);
  await until('both to hear news', () => newer.links.news.open() === 1 && older.links.news.open() === 1);
});

test('an admin that changed to the new key is heard by one that did not yet, and hears it', async (t) => {
  const changed = await startLinked(t, 'changed', { key: NEW_KEY, former: [LINK_KEY] });
  const waiting = await startLinked(t, 'waiting', { key: NEW_KEY, former: [LINK_KEY] });
  waiting.vault.sealWith(waiting.vault.ids[1] ?? '');
  meet(changed, waiting);

  const before = [await call(changed, waiting), await call(waiting, changed)];
  waiting.vault.sealWith(waiting.vault.wanted);
  const after = [await call(changed, waiting), await call(waiting, changed)];

  t.deepEqual([...before, ...after], [DONE, DONE, DONE, DONE]);
});

test('an admin without the key by which another speaks takes it for nobody', async (t) => {
  const changed = await startLinked(t, 'changed', { key: NEW_KEY, former: [LINK_KEY] });
  const older = await startLinked(t, 'older');
  meet(changed, older);

  const outcome = await call(changed, older);

  t.like(outcome, { type: 'lost', sure: true });
  t.deepEqual(await call(older, changed), DONE);
});
