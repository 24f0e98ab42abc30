/**
 * A database that is away: who noticed it, when it is back, and what became of the commits that were under way (L3).
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Notice } from '../../actors/notice.ts';
import { NothingWritten, type DatabaseUnavailable } from '../../actors/ports.ts';
import type { Change } from '../../actors/step.ts';
import type { Log } from '../../transport/net/log.ts';
import { isDoubtful, isLost, isUnavailable } from '../connections/availability.ts';
import { takesWrites } from '../connections/write-probe.ts';
import type { ExecutionStatus } from '../../actors/resources/command.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';

/** How often a lost database is asked whether it is back, in ms. */
const RETRY_MS = 200;

/** When commits in doubt are asked for again, in ms: the server's timeouts end at 3 s. */
const SECOND_LOOK_MS = 4_000;

/** Notices of commits in doubt that are kept: several batches. */
export const IN_DOUBT_NOTICES_MAX = 20_000;

/** Which database, and whom an outage tells. */
export interface OutagePorts {
  readonly pool: Pool;
  readonly log: Log;
  readonly committed: (notices: readonly Notice[]) => void;
  /** SECOND_LOOK_MS unless given. */
  readonly secondLookMs?: number;
}

/** None at first. It ends by itself, as soon as the database takes writes again. */
export class Outage {
  readonly #ports: OutagePorts;
  /** Null while the database is there. */
  #back: Promise<void> | null = null;
  /**
   * What was told of changes whose commit is in doubt, or was a moment ago. An outage brings a batch at most, and one
   * cold change a connection: nothing is begun while the database is away.
   */
  #inDoubtNotices: readonly Notice[] = [];

  constructor(ports: OutagePorts) {
    this.#ports = ports;
  }

  /** Whether the database is away now. */
  get isOn(): boolean {
    return this.#back !== null;
  }

  /** What whoever comes is told while the database is away; null while it is there. */
  error(): DatabaseUnavailable | null {
    return this.isOn ? new NothingWritten('The database is not available.') : null;
  }

  /** Resolves when the database answers again; at once when it does. */
  over(): Promise<void> {
    return this.#back ?? Promise.resolve();
  }

  /**
   * Whether this error says that the database is away for everybody. A disk that is full, or a server that became
   * read-only, says the same of one statement as of all: whether it takes a small write decides.
   */
  async isSaidBy(error: unknown): Promise<boolean> {
    return isLost(error) || (isDoubtful(error) && !(await isWritable(this.#ports.pool)));
  }

  /** It is away: whether these changes were stored is not known. */
  began(error: unknown, inDoubt: readonly Change[]): void {
    this.#keep(inDoubt.flatMap((change) => change.notices));
    if (this.isOn) return;
    this.#ports.log.warn({ error }, 'the database is not available: waiting for it');
    this.#back = this.#end();
  }

  async #end(): Promise<void> {
    await waitForDatabase(this.#ports.pool);
    this.#back = null;
    this.#ports.log.info({}, 'the database is back');
    void this.#settleInDoubt();
  }

  /**
   * The oldest are left out where the database is lost again and again: feeds read the rows by themselves in the end.
   */
  #keep(notices: readonly Notice[]): void {
    this.#inDoubtNotices = [...this.#inDoubtNotices, ...notices].slice(-IN_DOUBT_NOTICES_MAX);
  }

  /** Tells what was stored after all: now, and once more when the server has ended whatever it had begun. */
  async #settleInDoubt(): Promise<void> {
    const { pool, log, committed, secondLookMs = SECOND_LOOK_MS } = this.#ports;
    const notices = this.#inDoubtNotices;
    this.#inDoubtNotices = [];
    try {
      committed(await storedNotices(pool, notices));
      await delay(secondLookMs, undefined, { ref: false });
      committed((await storedNotices(pool, notices)).map(toldAgain));
    } catch (error) {
      log.warn({ error }, 'what was stored when the database went away could not be read');
      this.#keep(notices);
      if (!isUnavailable(error) || pool.ending) return;
      await delay(secondLookMs, undefined, { ref: false });
      if (!this.isOn) void this.#settleInDoubt(); // else once it is back
    }
  }
}

function toldAgain(notice: Notice): Notice {
  return notice.type === 'execution-changed' ? { ...notice, again: true } : notice;
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
 * The notices of commits in doubt, as the rows have it: executions in the state that is stored, if it is not the one
 * they began in; nodes and commands that are gone; nodes of which anything else was changed, or whose credential may
 * have been replaced, for whoever hears of them to look again; and that there may be events. Others tell of rows that
 * whoever asked was not promised.
 */
export async function storedNotices(pool: Pool, inDoubt: readonly Notice[]): Promise<readonly Notice[]> {
  const executions = inDoubt.filter((notice) => notice.type === 'execution-changed');
  const { rows } = await pool.query<{ id: ExecutionId; status: ExecutionStatus; exit_code: number | null }>(
    "select id, status, exit_code from command_execution where id = any($1::uuid[]) and status <> 'pending'",
    [executions.map((notice) => notice.execution)],
  );
  const stored = new Map(rows.map((row) => [row.id, row]));
  const told = new Map(
    executions.flatMap((notice): [ExecutionId, Notice][] => {
      const row = stored.get(notice.execution);
      return row === undefined ? [] : [[notice.execution, { ...notice, status: row.status, exitCode: row.exit_code }]];
    }),
  );
  const changed = inDoubt.filter(({ type }) => type === 'node-changed');
  const revoked = inDoubt.filter((notice) => notice.type === 'node-revoked').map(asDoubtful);
  return [...told.values(), ...changed, ...revoked, ...(await goneOf(pool, inDoubt)), { type: 'events-stored' }];
}

function asDoubtful(notice: Extract<Notice, { readonly isInDoubt?: boolean }>): Notice {
  return { ...notice, isInDoubt: true };
}

/** Of those that tell of a deletion, the ones whose rows are gone: what is open to a node ends then (E5). */
async function goneOf(pool: Pool, inDoubt: readonly Notice[]): Promise<readonly Notice[]> {
  const deleted = inDoubt.flatMap((notice): { readonly notice: Notice; readonly id: string }[] => {
    if (notice.type === 'node-removed') return [{ notice: asDoubtful(notice), id: notice.node }];
    return notice.type === 'command-removed' ? [{ notice, id: notice.command }] : [];
  });
  if (deleted.length === 0) return [];
  const { rows } = await pool.query<{ id: string }>(
    'select id from node where id = any($1::uuid[]) union all select id from command where id = any($1::uuid[])',
    [deleted.map(({ id }) => id)],
  );
  const there = new Set(rows.map(({ id }) => id));
  return deleted.flatMap(({ notice, id }) => (there.has(id) ? [] : [notice]));
}
