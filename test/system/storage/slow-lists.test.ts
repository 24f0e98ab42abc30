/** Reads that are slow or locked out: no write and no lease waits for them (L1, L4). */
import test from 'ava';
import { Client } from 'pg';
import { v7 } from 'uuid';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import { GroupCommitter } from '../../../persistence/committer/committer.ts';
import { Leases } from '../../../persistence/leases.ts';
import { CONNECT_MS_MAX, LOCK_MS_MAX } from '../../../persistence/database.ts';
import { commandRecord } from '../../support/actors.ts';
import { change } from '../../support/committer-fixture.ts';
import { recordingLog } from '../../support/log.ts';
import { openedDatabase } from '../../support/opened.ts';
import { patient } from '../../support/busy.ts';

/** Far more than there are connections. */
const LISTS = 60;

/** More than there are connections for reads. */
const READS = 20;

/**
 * A call ends within this, in ms: it waits for its turn or a connection, and then for the lock. Source: invariants, L3.
 */
const ENDED_MS_MAX = 5_000;

test('lists of a table that somebody has locked, however many are asked for, take no connection from writes and end in time', async (t) => {
  const opened = await openedDatabase(t);
  const log = recordingLog();
  const committer = new GroupCommitter({
    database: opened,
    vault: opened.vault,
    adminId: v7(),
    log,
    committed: () => {},
  });
  const other = new Client(opened.pool.options);
  await other.connect();
  t.teardown(() => other.end());
  await other.query('set idle_in_transaction_session_timeout = 0; begin; lock table alias in access exclusive mode');
  const beganMs = performance.now();
  let endedMs = 0;

  const lists = Array.from({ length: LISTS }, () =>
    opened.reads
      .list('aliases', { filters: [], sort: [], page: 1, pageSize: 20 })
      .catch((error: unknown) => error)
      .finally(() => {
        endedMs = performance.now() - beganMs;
      }),
  );
  const refused = await committer.commit(null, [
    change({ kind: 'command-created', command: { ...commandRecord(), id: v7() as never }, executions: [] }),
  ]);
  const committedMs = performance.now() - beganMs;

  t.deepEqual(refused, []);
  t.true(committedMs < patient(Math.min(CONNECT_MS_MAX, LOCK_MS_MAX)), `${Math.round(committedMs)} ms`);
  t.true((await Promise.all(lists)).every((error) => error instanceof DatabaseUnavailable));
  t.true(endedMs < patient(ENDED_MS_MAX), `${Math.round(endedMs)} ms`);
  t.deepEqual(log.lines, []);
});

test('reads that take every connection of theirs, each for long, keep neither a write nor a renewal waiting', async (t) => {
  const opened = await openedDatabase(t);
  const adminId = v7();
  const committer = new GroupCommitter({
    database: opened,
    vault: opened.vault,
    adminId,
    log: recordingLog(),
    committed: () => {},
  });
  const leases = new Leases(opened.writes);
  const beganMs = performance.now();

  const reads = Array.from({ length: READS }, () =>
    opened.pool.query('select pg_sleep(2)').catch((error: unknown) => error),
  );
  const [refused] = await Promise.all([
    committer.commit(null, [
      change({ kind: 'command-created', command: { ...commandRecord(), id: v7() as never }, executions: [] }),
    ]),
    leases.renew(adminId, []),
  ]);
  const tookMs = performance.now() - beganMs;

  t.deepEqual(refused, []);
  t.true(tookMs < patient(CONNECT_MS_MAX), `${Math.round(tookMs)} ms`);
  await Promise.all(reads);
});
