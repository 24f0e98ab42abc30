/** What initdb and PostgreSQL say before they give up, and what an operator is told of it. */
import test from 'ava';
import { failureOf } from '../../../../persistence/embedded/failure.ts';

for (const said of [
  'initdb: error: could not create directory "/data/pg/base": No space left on device',
  'FATAL:  could not write to file "pg_wal/xlogtemp.41": Disk quota exceeded',
  // a write that was cut short, in the middle of a page
  'FATAL:  could not extend file "base/1/1255": wrote only 4096 of 8192 bytes at block 31\nHINT:  Check free disk space.\nchild process exited with exit code 1',
])
  test(`a full disk is seen in "${said.split('\n')[0]}"`, (t) => {
    const { code, message } = failureOf(said, '/data/pg');

    t.is(code, 'disk-full');
    t.regex(message, /^The disk that holds \/data\/pg is full: free some space [^\n]*$/u);
  });

test('what is no full disk is not called one', (t) => {
  t.is(failureOf('FATAL:  could not extend file "base/1/1255": Input/output error', '/data/pg').code, 'other');
});
