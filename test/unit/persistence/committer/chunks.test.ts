/** What is written in chunks and fails in the middle may be done in part: nobody is told that nothing is. */
import test from 'ava';
import type { Pool } from 'pg';
import { DatabaseUnavailable, NothingWritten } from '../../../../actors/ports.ts';
import { CHUNK_EXECUTIONS_MAX, Chunks } from '../../../../persistence/committer/chunks.ts';
import type { CommandId } from '../../../../transport/protocol/ids.ts';

const COMMAND = '00000000-0000-7000-8000-000000000001' as CommandId;
const TOO_SLOW = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });

/** Chunks on a pool whose statements, one after another, answer so many rows or fail. */
function chunksOf(...answers: readonly (number | Error)[]): Chunks {
  let at = 0;
  const query = async (): Promise<{ readonly rows: readonly unknown[] }> => {
    const answer = answers[at] ?? 0;
    at += 1;
    return answer instanceof Error
      ? Promise.reject(answer)
      : Promise.resolve({ rows: Array.from({ length: answer }, () => ({})) });
  };
  const connect = async () => Promise.resolve({ query, release: () => {} });
  return new Chunks({ connect } as unknown as Pool);
}

/** Its first chunks are written, and then comes what fails. */
const CASES = {
  'a cancel': (chunks: Chunks) => chunks.markCancelled(COMMAND, 0),
  'a deletion': (chunks: Chunks) => chunks.deleteExecutions(COMMAND),
};
const WRITTEN = { 'a cancel': [CHUNK_EXECUTIONS_MAX], 'a deletion': [0, 1, 0] };

for (const [what, write] of Object.entries(CASES)) {
  test(`${what} that fails before its first chunk is written has done nothing`, async (t) => {
    await t.throwsAsync(write(chunksOf(TOO_SLOW)), { instanceOf: NothingWritten });
  });

  test(`of ${what} that fails behind its first chunk nobody knows`, async (t) => {
    const error = await t.throwsAsync(write(chunksOf(...WRITTEN[what as keyof typeof CASES], TOO_SLOW)));

    t.true(error instanceof DatabaseUnavailable && !(error instanceof NothingWritten));
  });
}
