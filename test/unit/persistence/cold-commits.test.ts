/**
 * Cold changes whose database was lost under way: what they would have told is kept, whoever noticed it first.
 *
 * Promises: E5, V1.
 */
import test, { type ExecutionContext } from 'ava';
import { DatabaseUnavailable, NothingWritten } from '../../../actors/ports.ts';
import type { Change } from '../../../actors/step.ts';
import { ColdCommits, type ColdCommitPorts } from '../../../persistence/committer/cold-commits.ts';

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
  await t.throwsAsync(commits.commit(null, [CHANGE]), { instanceOf: DatabaseUnavailable });
  return told;
}

test('a change that was under way when the database was lost is in doubt, also where another one noticed that first', async (t) => {
  t.deepEqual(await toldOf(t, Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })), [CHANGE]);
});

test('one of which nothing can have been stored is not', async (t) => {
  t.deepEqual(await toldOf(t, new NothingWritten('no connection was to be had')), []);
});
