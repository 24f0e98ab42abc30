/**
 * Cold changes: whose turn it is, and what they would have told where the database is lost under way, whoever noticed
 * it first.
 *
 * Promises: E5, V1, L4.
 */
import { setImmediate } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { DatabaseUnavailable, NothingWritten } from '../../../../actors/ports.ts';
import type { Change } from '../../../../actors/step.ts';
import { COLD_WAITING_MAX, ColdCommits, type ColdCommitPorts } from '../../../../persistence/committer/cold-commits.ts';
import { ORM_CONNECTIONS_MAX } from '../../../../persistence/connections/database.ts';

const CHANGE: Change = { write: { kind: 'nothing' }, events: [], notices: [{ type: 'events-stored' }] };

/** What an outage is told of a change whose transaction fails so, beside another one that noticed it before. */
async function toldOf(t: ExecutionContext, reason: Error): Promise<readonly Change[]> {
  const told: Change[] = [];
  const outage = {
    isOn: true,
    error: () => null, // it was begun before
    isSaidBy: async () => Promise.resolve(true),
    began: (_error: unknown, inDoubt: readonly Change[]) => void told.push(...inDoubt),
  };
  const transactional = async (): Promise<never> => Promise.reject(reason);
  const database = { orm: { em: { fork: () => ({ transactional }) } } };
  const commits = new ColdCommits({ outage, database } as unknown as ColdCommitPorts);
  await t.throwsAsync(commits.commit(null, [CHANGE], true), { instanceOf: DatabaseUnavailable });
  return told;
}

test('a change that was under way when the database was lost is in doubt, also where another one noticed that first', async (t) => {
  t.deepEqual(await toldOf(t, Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })), [CHANGE]);
});

test('one of which nothing can have been stored is not', async (t) => {
  t.deepEqual(await toldOf(t, new NothingWritten('no connection was to be had')), []);
});

test('what nobody waits for has its turn however much there is of it, and a caller is behind what is being stored alone', async (t) => {
  const ends: (() => void)[] = [];
  const stored: Change[] = [];
  const transactional = async (): Promise<unknown> => {
    await new Promise<void>((resolve) => void ends.push(resolve));
    return { written: { notices: [] } };
  };
  const commits = new ColdCommits({
    outage: { error: () => null, isSaidBy: async () => Promise.resolve(false) },
    news: { tell: ([change]: readonly Change[]) => void stored.push(change as Change) },
    database: { orm: { em: { fork: () => ({ transactional }) } }, witnesses: { areKept: false } },
  } as unknown as ColdCommitPorts);
  const called: Change = { ...CHANGE };
  const count = 2 * COLD_WAITING_MAX;

  const facts = Promise.all(Array.from({ length: count }, () => commits.commit(null, [CHANGE], false)));
  const call = commits.commit(null, [called], true);
  for (let ended = 0; ended <= count; ended += 1) {
    while (ends.length <= ended) await setImmediate();
    ends[ended]?.();
  }

  await Promise.all([facts, call]);
  t.is(stored.length, count + 1);
  t.true(stored.indexOf(called) <= ORM_CONNECTIONS_MAX, `behind ${stored.indexOf(called)}`);
});
