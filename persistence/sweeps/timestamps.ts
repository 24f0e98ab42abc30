/**
 * Timestamps by the database's clock (O2), and rows of executions as events tell of them. The snapshot itself is built
 * where actors build theirs.
 */
import type { DomainEvent } from '../../actors/event-catalogue.ts';
import type { EventType } from '../../actors/events.ts';
import { executionSnapshot } from '../../actors/node/snapshots.ts';
import type { ExecutionStatus } from '../../actors/resources/command.ts';
import type { CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { SKEW_MS_MAX } from '../database-clock.ts';
import { ms } from '../reads/record-rows.ts';
import { sql, type Sql } from '../reads/sql.ts';

/** The instant of a sweep: the database's own, the same in all of one transaction. */
export const DATABASE_NOW: Sql = sql`now()`;

/**
 * The same for what is deleted by its age, where `ownMs` is the time of this machine. Where the two differ by more than
 * SKEW_MS_MAX one of them is wrong: it is null then, than which nothing is older.
 * It is computed for each row, so that the bounds are such as PostgreSQL makes constants of when it plans. Arithmetic
 * with now() is not: it made a look at 50,000 events take four times as long.
 */
export function agreedNow(ownMs: number): Sql {
  return sql`(case when now() between ${at(ownMs - SKEW_MS_MAX)} and ${at(ownMs + SKEW_MS_MAX)} then now() end)`;
}

/** An instant in Unix time, in ms. */
function at(unixMs: number): Sql {
  return sql`to_timestamp(${unixMs / 1_000}::float8)`;
}

/** The instant so many ms before another one. */
export function before(now: Sql, ms: number): Sql {
  return sql`(${now} - ${ms}::float8 * interval '1 ms')`;
}

/**
 * What `executionEvent` wants of `command_execution e join command m`. Without whom the command names: in each of a
 * thousand rows that would be more than a statement answers in its time.
 */
export const EXECUTION_COLUMNS = sql`e.id, e.command_id, e.node_id, e.cluster_name, e.target_all, m.command_text, m.timeout, m.expired_at, m.inserted_at as command_inserted_at,
  e.status, e.exit_code, e.sent_at, e.completed_at, e.cancelled_at, e.inserted_at, e.updated_at`;

/** A row of EXECUTION_COLUMNS. */
export interface ExecutionRow {
  readonly id: ExecutionId;
  readonly command_id: CommandId;
  readonly node_id: NodeId;
  readonly cluster_name: string;
  readonly command_text: string;
  readonly target_all: boolean;
  readonly timeout: number | null;
  readonly expired_at: Date | null;
  readonly command_inserted_at: Date;
  readonly status: ExecutionStatus;
  readonly exit_code: number | null;
  readonly sent_at: Date | null;
  readonly completed_at: Date | null;
  readonly cancelled_at: Date | null;
  readonly inserted_at: Date;
  readonly updated_at: Date;
}

type ExecutionEventType = Extract<EventType, `edge.command_execution.${string}`>;

/** The event of a change of this execution, as its row is. */
export function executionEvent(type: ExecutionEventType, row: ExecutionRow, at: Date): DomainEvent<ExecutionEventType> {
  const command = {
    id: row.command_id,
    text: row.command_text,
    targetAll: row.target_all,
    timeoutMs: row.timeout,
    expiredAtMs: ms(row.expired_at),
    insertedAtMs: ms(row.command_inserted_at),
  };
  const execution = {
    id: row.id,
    command,
    node: row.node_id,
    clusterName: row.cluster_name,
    insertedAtMs: ms(row.inserted_at),
  };
  const data = executionSnapshot(execution, {
    status: row.status,
    exitCode: row.exit_code,
    sentAtMs: ms(row.sent_at),
    completedAtMs: ms(row.completed_at),
    cancelledAtMs: ms(row.cancelled_at),
    updatedAtMs: ms(row.updated_at),
  });
  return { type, subject: row.id, atMs: at.getTime(), data };
}
