/** Commits by which a promoted server shows what it lost, also where the database does not speak of its log. */
import test from 'ava';
import { inTransaction } from '../../../persistence/connections/transaction.ts';
import { recordingLog } from '../../support/log.ts';
import { openedDatabase } from '../../support/database/opened.ts';

test('a database without commit witnesses takes writes, and counts as set back after a promotion', async (t) => {
  const { pool, witnesses } = await openedDatabase(t);
  const log = recordingLog();
  await pool.query('create table kept (n int)');
  const keep = (n: number) =>
    inTransaction(pool, 'keeping', (client) => client.query('insert into kept values ($1)', [n]), 'begin', witnesses);

  await pool.query('alter function pg_catalog.pg_walfile_name(pg_lsn) rename to pg_walfile_name_refused');
  await witnesses.tryIn(pool, log);
  await keep(1);
  t.false(witnesses.areKept);
  t.false(await witnesses.areIn(pool, '00000002'));
  t.regex(log.lines.map(({ message }) => message).join('\n'), /starts anew/u);

  await pool.query('alter function pg_catalog.pg_walfile_name_refused(pg_lsn) rename to pg_walfile_name');
  await witnesses.tryIn(pool, log);
  await keep(2);
  t.true(witnesses.areKept);
  t.deepEqual((await pool.query('select n from kept order by n')).rows, [{ n: 1 }, { n: 2 }]);
});
