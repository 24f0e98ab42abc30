/** The rows of the journal: its statements, one a method. Those that write are called inside of `JournalFile.write`. */
import type { Delivery } from '../../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import type { Finished, OutputPiece } from '../../session/ports.ts';
import type { FormerEnd } from './former-end.ts';
import type { Ending, Started, Waiting } from '../execution.ts';
import type { JournalFile, JournalRow } from './journal-file.ts';
import type { LedgerStart } from '../ledger/ledger.ts';
import { pieceOf } from '../output/output-text.ts';
import { processTraceparent } from '../process-trace.ts';
import { elapsedMs, type Stamp, type Timeline } from '../timeline.ts';

/** Where the journal has an execution. */
export type RowState = 'received' | 'started' | 'finished';

/** Knows columns, and nothing of what may follow what. */
export class JournalRows {
  readonly #file: JournalFile;
  readonly #timeline: Timeline;

  constructor(file: JournalFile, timeline: Timeline) {
    this.#file = file;
    this.#timeline = timeline;
  }

  /** All, in the order of receipt. */
  states(): readonly (readonly [ExecutionId, RowState])[] {
    return this.#file
      .all('SELECT id, state FROM execution ORDER BY receipt')
      .map((row) => [row['id'] as ExecutionId, row['state'] as RowState]);
  }

  /** In the order in which they finished. */
  finished(): readonly ExecutionId[] {
    return this.#file
      .all("SELECT id FROM execution WHERE state = 'finished' ORDER BY finished_order")
      .map((row) => row['id'] as ExecutionId);
  }

  /** In the order of receipt. */
  started(): readonly Started[] {
    return this.#file.all("SELECT * FROM execution WHERE state = 'started' ORDER BY receipt").map((row) => ({
      execution: row['id'] as ExecutionId,
      shim: row['keeper'] as string,
      timeoutMs: row['timeout_ms'] as number | null,
      startedAt: stampOf(row),
      traceparent: row['traceparent'] as string | null,
    }));
  }

  /** What a delivery said of how it is run, in whatever state it is; nulls where there is no row. */
  limits(execution: ExecutionId): Pick<Started, 'timeoutMs' | 'traceparent'> {
    const row = this.#file.get('SELECT timeout_ms, traceparent FROM execution WHERE id = ?', execution);
    return {
      timeoutMs: (row?.['timeout_ms'] ?? null) as number | null,
      traceparent: (row?.['traceparent'] ?? null) as string | null,
    };
  }

  /** When it arrived; null unless it waits by its row. */
  receivedAt(execution: ExecutionId): Stamp | null {
    const row = this.#file.get("SELECT * FROM execution WHERE id = ? AND state = 'received'", execution);
    return row === undefined ? null : stampOf(row);
  }

  /** Null unless it waits. */
  waiting(execution: ExecutionId): Waiting | null {
    const row = this.#file.get("SELECT * FROM execution WHERE id = ? AND state = 'received'", execution);
    if (row === undefined) return null;
    const expiresInMs = row['expires_in_ms'] as number | null;
    return {
      execution,
      commandText: row['command_text'] as string,
      timeoutMs: row['timeout_ms'] as number | null,
      isExpired: expiresInMs !== null && elapsedMs(stampOf(row), this.#timeline) >= expiresInMs,
      traceparent: row['traceparent'] as string | null,
    };
  }

  /** Null unless it is finished. */
  result(execution: ExecutionId): Finished | null {
    const row = this.#file.get(
      "SELECT outcome, exit_code, output_bytes, output_truncated, traceparent, ran_ms, boot_id, monotonic_ms, wall_ms FROM execution WHERE id = ? AND state = 'finished'",
      execution,
    );
    return row === undefined
      ? null
      : {
          outcome: row['outcome'] as Finished['outcome'],
          exitCode: row['exit_code'] as number,
          outputTruncated: row['output_truncated'] === 1,
          outputBytes: row['output_bytes'] as number,
          ...this.#traceOf(row),
        };
  }

  #traceOf(row: JournalRow): Pick<Finished, 'trace'> {
    const traceparent = processTraceparent(row['traceparent'] as string | null);
    const ranMs = row['ran_ms'] as number | null;
    return traceparent === null || ranMs === null
      ? {}
      : { trace: { traceparent, ranMs, endedMsAgo: Math.max(0, elapsedMs(stampOf(row), this.#timeline) - ranMs) } };
  }

  /** At most `bytesMax` from byte `offset` on, never splitting a code point; null unless it is finished. */
  output(execution: ExecutionId, offset: number, bytesMax: number): OutputPiece | null {
    const row = this.#file.get(
      "SELECT substr(output, ? + 1, ? + 4) AS piece FROM execution WHERE id = ? AND state = 'finished'",
      offset,
      bytesMax,
      execution,
    );
    // Of an empty BLOB, substr makes NULL.
    return row === undefined ? null : pieceOf(Buffer.from((row['piece'] as Uint8Array | null) ?? []), offset, bytesMax);
  }

  /** Of one that is finished, with the whole output. */
  ending(execution: ExecutionId): Pick<Ending, 'execution' | 'outcome' | 'exitCode' | 'output'> {
    const row = this.#file.get('SELECT outcome, exit_code, output FROM execution WHERE id = ?', execution);
    return {
      execution,
      outcome: row?.['outcome'] as Ending['outcome'],
      exitCode: Number(row?.['exit_code']),
      output: Buffer.from((row?.['output'] as Uint8Array | null) ?? []),
    };
  }

  /** Takes a delivery in: as started where it has an exec shim already, else as waiting. */
  insert(delivery: Delivery, shim: string | null, stamp: Stamp): void {
    const { traceparent = null } = delivery;
    this.#file.run(
      'INSERT INTO execution (id, state, keeper, command_text, timeout_ms, expires_in_ms, traceparent, boot_id, monotonic_ms, wall_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      delivery.execution,
      shim === null ? 'received' : 'started',
      shim,
      delivery.command_text,
      delivery.timeout_ms,
      delivery.expires_in_ms,
      traceparent,
      stamp.bootId,
      stamp.monotonicMs,
      stamp.wallMs,
    );
  }

  /** Has it finished, whatever was known of it. */
  replace(execution: ExecutionId, { outcome, exitCode, text }: FormerEnd, stamp: Stamp): void {
    const output = Buffer.from(text);
    this.delete(execution);
    this.#file.run(
      `INSERT INTO execution (id, state, command_text, outcome, exit_code, output, output_bytes, output_truncated, finished_order, boot_id, monotonic_ms, wall_ms)
       VALUES (?, 'finished', '', ?, ?, ?, ?, ?, (SELECT coalesce(max(finished_order), 0) + 1 FROM execution), ?, ?, ?)`,
      execution,
      outcome,
      exitCode,
      output,
      output.length,
      Number(text !== ''),
      stamp.bootId,
      stamp.monotonicMs,
      stamp.wallMs,
    );
  }

  /** Has one that waits started. */
  start({ execution, shim }: LedgerStart, stamp: Stamp): void {
    this.#file.run(
      "UPDATE execution SET state = 'started', keeper = ?, boot_id = ?, monotonic_ms = ?, wall_ms = ? WHERE id = ? AND state = 'received'",
      shim,
      stamp.bootId,
      stamp.monotonicMs,
      stamp.wallMs,
      execution,
    );
  }

  /** Has one that started wait again. */
  withdraw(execution: ExecutionId): void {
    this.#file.run(
      "UPDATE execution SET state = 'received', keeper = NULL WHERE id = ? AND state = 'started'",
      execution,
    );
  }

  /** Has it started, whether it is known or not. */
  restore({ execution, shim }: LedgerStart, stamp: Stamp): void {
    this.#file.run(
      `INSERT INTO execution (id, state, command_text, keeper, boot_id, monotonic_ms, wall_ms) VALUES (?, 'started', '', ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET state = excluded.state, keeper = excluded.keeper, boot_id = excluded.boot_id, monotonic_ms = excluded.monotonic_ms, wall_ms = excluded.wall_ms`,
      execution,
      shim,
      stamp.bootId,
      stamp.monotonicMs,
      stamp.wallMs,
    );
  }

  /** Has it finished, unless it is. */
  finish(ending: Ending, { bootId, monotonicMs, wallMs }: Stamp): void {
    this.#file.run(
      `UPDATE execution SET state = 'finished', command_text = '', outcome = ?, exit_code = ?, output = ?, output_bytes = ?, output_truncated = ?,
       ran_ms = CASE WHEN ? AND keeper IS NOT NULL THEN max(0, CASE WHEN boot_id = ? THEN ? - monotonic_ms ELSE ? - wall_ms END) END,
       finished_order = (SELECT coalesce(max(finished_order), 0) + 1 FROM execution) WHERE id = ? AND state <> 'finished'`,
      ending.outcome,
      ending.exitCode,
      ending.output,
      ending.output.length,
      ending.outputTruncated ? 1 : 0,
      ending.hasRun === false ? 0 : 1,
      bootId,
      monotonicMs,
      wallMs,
      ending.execution,
    );
  }

  delete(execution: ExecutionId): void {
    this.#file.run('DELETE FROM execution WHERE id = ?', execution);
  }

  /** Writes as much as a small execution needs, and takes it back. */
  probe(): void {
    this.#file.run(
      'INSERT INTO probe (id, filler) VALUES (1, zeroblob(65536)) ON CONFLICT (id) DO UPDATE SET filler = excluded.filler',
    );
    this.#file.run('DELETE FROM probe');
  }
}

function stampOf(row: JournalRow): Stamp {
  return {
    bootId: row['boot_id'] as string,
    monotonicMs: row['monotonic_ms'] as number,
    wallMs: row['wall_ms'] as number,
  };
}
