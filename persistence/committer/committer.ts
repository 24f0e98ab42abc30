/**
 * The group commit: steps that wait together are stored in one transaction, so that hundreds of actors share one fsync.
 */
import { setTimeout as setTimer } from 'node:timers';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Lease } from '../../actors/behaviour.ts';
import { createHistogram, type Histogram } from '../../transport/net/histogram.ts';
import { ASK_MS_MAX } from '../../actors/limits.ts';
import type { Notice } from '../../actors/notice.ts';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { Change } from '../../actors/step.ts';
import { isHot } from '../../actors/writes.ts';
import { isConflict, isDoubtful, isLost } from '../availability.ts';
import { ORM_CONNECTIONS_MAX } from '../database.ts';
import { createSemaphore } from '../semaphore.ts';
import { inTransaction } from '../transaction.ts';
import { takesWrites } from '../write-probe.ts';
import { deleteExecutions, markCancelled } from './chunks.ts';
import { storeCold } from './cold.ts';
import type { ColdOutcome, ColdPorts } from './cold.ts';
import { storedNotices } from './in-doubt.ts';
import { storeBatch, type HotChange } from './hot-batch.ts';
import { BATCH_PATIENCE, createIsolation, type Patience } from './isolation.ts';
import { bytesOf, changesOf, countOfBatch, type Waiting } from './units.ts';
import type { Committer, RefusedChange } from '../../supervisors/ports.ts';

/** A batch of so many units says that the system is busy. */
const BUSY_UNITS_MIN = 8;

/**
 * So many waiting units are stored at once; for fewer a busy committer waits GATHER_MS, in ms. Source: design, group
 * commit gathers for at most 5 ms; measured with `bench sustained`.
 */
const WORTHWHILE_UNITS = 64;
const GATHER_MS = 2;

/**
 * Tries of deliveries wait longer for each other, in ms: nobody waits for one, and a statement for a hundred costs a
 * third of what ones for twenty do (measured). Anything else ends the wait.
 */
const PATIENT_GATHER_MS = 8;

/** How often a lost database is asked whether it is back, in ms. */
const RETRY_MS = 200;

/** When commits in doubt are asked for again, in ms: the server's timeouts end at 3 s. */
const SECOND_LOOK_MS = 4_000;

/** Buckets of how long a transaction took, in s: from what an idle database takes to where it counts as away. */
const DURATION_BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Buckets of changes in one transaction, up to BATCH_CHANGES_MAX and the one unit that may go beyond it. */
const SIZE_BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000];

/**
 * How often a batch is stored again that met another transaction: a deadlock or a serialization failure says that
 * nothing of it was kept.
 */
const CONFLICTS_MAX = 3;

/** Cold changes that wait for a connection. Each is one of an actor that waits for nothing else. */
export const COLD_WAITING_MAX = 1_000;

/** What the committer did so far, for metrics. */
export interface CommitCounters {
  batches: number;
  changes: number;
  refused: number;
  failed: number;
  /** How long transactions took that were stored, in s. */
  readonly durations: Histogram;
  /** Changes in each of them. */
  readonly sizes: Histogram;
}

/** The Committer port, with what shutdown and metrics ask of it. */
export interface GroupCommitter extends Committer {
  readonly counters: Readonly<CommitCounters>;
  /** Steps of actors that wait to be stored, without those that are being stored. */
  waiting(): number;
  /** Resolves when nothing waits to be stored. */
  drained(): Promise<void>;
  /** Resolves when everything that waits now is stored or refused. Rejects with DatabaseUnavailable. */
  caughtUp(): Promise<void>;
}

/** What a committer writes to, and whom it tells. */
export interface CommitterPorts extends ColdPorts {
  readonly log: Log;
  readonly committed: (notices: readonly Notice[]) => void;
}

/** A committer on this database. `committed` hears the notices of each batch after its commit, in commit order. */
export function createCommitter(ports: CommitterPorts): GroupCommitter {
  const { vault, log, committed } = ports;
  const { writes: pool } = ports.database;
  const durations = createHistogram(DURATION_BOUNDS_S);
  const sizes = createHistogram(SIZE_BOUNDS);
  /**
   * Cold changes wait here and not at the pool: there, a wait behind others looks like a database that is away (L4).
   */
  const coldSemaphore = createSemaphore('storing a change', ORM_CONNECTIONS_MAX, COLD_WAITING_MAX);
  const counters: CommitCounters = { batches: 0, changes: 0, refused: 0, failed: 0, durations, sizes };
  let queue: Waiting[] = [];
  let running: Promise<void> | null = null;
  /** Ends the patient wait for more. */
  let hurry: (() => void) | null = null;
  let back: Promise<void> | null = null;
  /**
   * What was told of changes whose commit is in doubt. At most a batch, and one cold change a connection: nothing is
   * begun while the database is away.
   */
  let inDoubtNotices: Notice[] = [];
  const isolation = createIsolation({
    store,
    isAway,
    wentAway: wentAwayWith,
    awayError: () => (back === null ? null : new DatabaseUnavailable('The database is not available.')),
    unstorable: (error) => log.error({ error }, 'a change could not be stored'),
    monotonicMs: () => performance.now(),
  });

  function commitHot(lease: Lease | null, changes: readonly HotChange[]): Promise<readonly RefusedChange[]> {
    return new Promise((resolve, reject) => {
      const waiting = { unit: { lease, changes }, bytes: bytesOf(changes), resolve, reject };
      if (isolation.isSuspect(waiting.unit)) return isolation.alone(waiting);
      queue.push(waiting);
      if (!isPatient(changes)) hurry?.();
      // What arrives in this turn of the event loop travels together; while a batch is stored, the next one gathers.
      running ??= run();
    });
  }

  async function run(): Promise<void> {
    await setImmediate();
    while (queue.length > 0) {
      if (back !== null) {
        rejectAll(queue.splice(0));
        continue;
      }
      const taken = take();
      await storeWaiting(taken);
      // Under load a small batch is not worth its five round trips: a moment later it is a larger one. Whoever someone
      // waits for never waits on an idle system.
      if (queue.length < WORTHWHILE_UNITS) await gather(taken);
    }
    running = null;
  }

  async function gather(taken: readonly Waiting[]): Promise<void> {
    const allPatient = [...taken, ...queue].every(({ unit }) => isPatient(unit.changes));
    if (!allPatient) return taken.length >= BUSY_UNITS_MIN ? delay(GATHER_MS) : undefined;
    await new Promise<void>((resolve) => {
      const timer = setTimer(resolve, PATIENT_GATHER_MS);
      hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    hurry = null;
  }

  /** While the database is away nobody waits for a timeout of their own (L3). */
  function rejectAll(waiting: readonly Waiting[]): void {
    for (const one of waiting) one.reject(new DatabaseUnavailable('The database is not available.'));
  }

  function take(): readonly Waiting[] {
    const count = countOfBatch(queue);
    const taken = queue.slice(0, count);
    queue = queue.slice(count);
    return taken;
  }

  async function storeWaiting(waiting: readonly Waiting[]): Promise<void> {
    try {
      await store(waiting, BATCH_PATIENCE);
    } catch (error) {
      if (await isAway(error)) wentAwayWith(error, waiting);
      else isolation.takeApart(waiting, error);
    }
  }

  /**
   * Stores them, tells of them and resolves them; again where another transaction stood in the way. Rejects when
   * nothing of it was stored.
   */
  async function store(waiting: readonly Waiting[], patience: Patience, conflicts = 0): Promise<void> {
    const beganMs = performance.now();
    try {
      const outcome = await inTransaction(
        pool,
        'storing a batch',
        (client) =>
          storeBatch(
            client,
            vault,
            waiting.map((one) => one.unit),
          ),
        beginWith(patience),
      );
      tell(changesOf(waiting), [...outcome.values()].flat(), beganMs);
      for (const one of waiting) one.resolve(outcome.get(one.unit) ?? []);
    } catch (error) {
      counters.failed += 1;
      if (!isConflict(error) || conflicts >= CONFLICTS_MAX) throw error;
      await store(waiting, patience, conflicts + 1);
    }
  }

  /**
   * A disk that is full, or a server that became read-only, says the same of one statement as of all: whether it takes
   * a small write decides.
   */
  async function isAway(error: unknown): Promise<boolean> {
    return isLost(error) || (isDoubtful(error) && !(await isWritable(pool)));
  }

  function wentAwayWith(error: unknown, waiting: readonly Waiting[]): void {
    wentAway(error, changesOf(waiting));
    for (const one of waiting) one.reject(error);
  }

  function wentAway(error: unknown, inDoubt: readonly Change[]): void {
    inDoubtNotices.push(...inDoubt.flatMap((change) => change.notices));
    if (back !== null) return;
    log.warn({ error }, 'the database is not available: waiting for it');
    back = waitUntilBack();
  }

  async function waitUntilBack(): Promise<void> {
    await waitForDatabase(pool);
    back = null;
    log.info({}, 'the database is back');
    void settleInDoubt();
  }

  /** Tells what was stored after all: now, and once more when the server has ended whatever it had begun. */
  async function settleInDoubt(): Promise<void> {
    const notices = inDoubtNotices;
    inDoubtNotices = [];
    try {
      committed(await storedNotices(pool, notices));
      await delay(SECOND_LOOK_MS, undefined, { ref: false });
      if (back === null)
        committed(
          (await storedNotices(pool, notices)).map((notice) =>
            notice.type === 'execution-changed' ? { ...notice, again: true } : notice,
          ),
        );
    } catch (error) {
      log.warn({ error }, 'what was stored when the database went away could not be read');
    }
  }

  async function commitCold(lease: Lease | null, changes: readonly Change[]): Promise<readonly RefusedChange[]> {
    const refused: RefusedChange[] = [];
    for (const change of changes) {
      try {
        if (back !== null) throw new DatabaseUnavailable('The database is not available.');
        if (change.write.kind === 'command-deleted') await deleteExecutions(pool, change.write.command);
        const queuedMs = performance.now();
        refused.push(...(await coldSemaphore(() => storeInTime(lease, change, queuedMs))));
      } catch (error) {
        if (await isAway(error)) wentAway(error, back === null ? [change] : []);
        throw error;
      }
    }
    return refused;
  }

  /** Its turn has come. Nobody waits any more for what is late: no time of others is spent on it. */
  async function storeInTime(lease: Lease | null, change: Change, queuedMs: number): Promise<readonly RefusedChange[]> {
    if (back !== null) throw new DatabaseUnavailable('The database is not available.');
    const beganMs = performance.now();
    if (beganMs - queuedMs > ASK_MS_MAX) throw new DatabaseUnavailable('Too many changes wait to be stored.');
    const outcome = await storeUnhindered(lease, change);
    const refused = outcome.refusal === null ? [] : [{ change, refusal: outcome.refusal }];
    tell([change], refused, beganMs, outcome.notices);
    return refused;
  }

  /**
   * Another transaction that stood in the way (two nodes that change places) let nothing of this one be stored: it is
   * tried again.
   */
  async function storeUnhindered(lease: Lease | null, change: Change, conflicts = 0): Promise<ColdOutcome> {
    try {
      return await storeCold(ports, lease, change);
    } catch (error) {
      if (isConflict(error) && conflicts < CONFLICTS_MAX) return storeUnhindered(lease, change, conflicts + 1);
      throw error;
    }
  }

  function tell(
    changes: readonly Change[],
    refused: readonly RefusedChange[],
    beganMs: number,
    more: readonly Notice[] = [],
  ): void {
    counters.batches += 1;
    if (changes.length > 0) {
      durations.observe((performance.now() - beganMs) / 1_000);
      sizes.observe(changes.length);
    }
    counters.changes += changes.length;
    counters.refused += refused.length;
    const without = new Set(refused.map((one) => one.change));
    const notices: Notice[] = [...more];
    for (const change of changes) if (!without.has(change)) for (const notice of change.notices) notices.push(notice);
    committed(notices);
  }

  return {
    counters,
    waiting: () => queue.length,
    async commit(lease, changes) {
      const hot = changes.filter((change): change is HotChange => isHot(change.write));
      for (const { write } of hot)
        if (write.kind === 'command-cancel-requested' && back === null)
          await markCancelled(pool, write.command, write.atMs);
      const refused = hot.length === 0 ? [] : await commitHot(lease, hot);
      if (hot.length === changes.length) return refused;
      return [
        ...refused,
        ...(await commitCold(
          lease,
          changes.filter((change) => !isHot(change.write)),
        )),
      ];
    },
    ready: () => back ?? Promise.resolve(),
    drained: async () => {
      await running;
      await isolation.settled();
    },
    caughtUp: async () => {
      await commitHot(null, []); // batches are stored one after another
      await isolation.settled();
    },
  };
}

async function isWritable(pool: Pool): Promise<boolean> {
  try {
    return await takesWrites(pool);
  } catch {
    return false; // it does not answer
  }
}

async function waitForDatabase(pool: Pool): Promise<void> {
  for (;;) {
    if (await isWritable(pool)) return;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, RETRY_MS).unref();
    });
  }
}

/**
 * A batch that waits for a row that is locked, or takes too long, is taken apart: it must not take the time that all of
 * its callers have.
 */
function beginWith(patience: Patience): string {
  return `begin; set local lock_timeout = ${patience.lockMsMax}${patience.statementMsMax === null ? '' : `; set local statement_timeout = ${patience.statementMsMax}`}`;
}

/** Whether nobody waits for any of these. */
function isPatient(changes: readonly HotChange[]): boolean {
  return changes.every(({ write }) => write.kind === 'delivery-attempted');
}
