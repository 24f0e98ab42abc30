/**
 * Sends results on one connection: small ones batched in frames, long outputs ahead of theirs in parts, one part at a
 * time.
 */
import type { AgentFrameBody } from '../../transport/protocol/frames.ts';
import type { ExecutionResult } from '../../transport/protocol/execution-result.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import {
  EXECUTIONS_PER_FRAME_MAX,
  EXIT_CODE_MAX,
  FRAME_BYTES_MAX,
  OUTPUT_PART_BYTES_MAX,
} from '../../transport/protocol/limits.ts';
import type { Finished, SessionJournal } from './ports.ts';

/** Most bytes that JSON makes of one byte of text: \u0000. */
const ESCAPE_FACTOR = 6;

/** Upper bound of a result without its output, in bytes of JSON. */
const RESULT_BYTES_MAX = 512;

/** Bytes of JSON that the results of one frame may take. */
const BATCH_BYTES_MAX = FRAME_BYTES_MAX - 1_024;

type Send = (body: AgentFrameBody) => void;

interface Upload {
  readonly execution: ExecutionId;
  /** The part that waits for its `part-stored`. */
  part: number;
  /** Byte offset behind it. */
  next: number;
}

/** Lives as long as its connection; the journal is what lasts. */
export class ResultSender {
  readonly #journal: SessionJournal;
  readonly #send: Send;
  readonly #isRoomy: () => boolean;
  readonly #tellsTraces: boolean;
  #waiting: ExecutionId[] = [];
  #long: ExecutionId[] = [];
  #upload: Upload | null = null;
  readonly #sent = new Set<ExecutionId>();

  /** `tellsTraces`: this admin knows what becomes of a trace. */
  constructor(journal: SessionJournal, send: Send, isRoomy: () => boolean, tellsTraces: boolean) {
    this.#journal = journal;
    this.#send = send;
    this.#isRoomy = isRoomy;
    this.#tellsTraces = tellsTraces;
  }

  /** Queues results and sends what may go. */
  add(executions: readonly ExecutionId[]): void {
    this.#waiting.push(...executions);
    this.pump();
  }

  /** The admin has part `part`: the next goes out, or after the last the result. */
  partStored(execution: ExecutionId, part: number): void {
    const upload = this.#upload;
    // late answer for one that was dropped
    if (upload === null || upload.execution !== execution || upload.part !== part) return;
    upload.part += 1;
    this.#sendPart(upload);
  }

  /** Those of `executions` whose results went out on this connection. */
  confirmed(executions: readonly ExecutionId[]): ExecutionId[] {
    return executions.filter((execution) => this.#sent.delete(execution));
  }

  /** These need no result any more. */
  drop(executions: readonly ExecutionId[]): void {
    const dropped = new Set(executions);
    this.#waiting = this.#waiting.filter((execution) => !dropped.has(execution));
    this.#long = this.#long.filter((execution) => !dropped.has(execution));
    for (const execution of executions) this.#sent.delete(execution);
    if (this.#upload !== null && dropped.has(this.#upload.execution)) this.#endUpload();
  }

  /** Sends what the socket has room for. */
  pump(): void {
    while (this.#waiting.length > 0 && this.#isRoomy()) {
      const results = this.#nextBatch();
      if (results.length > 0) this.#send({ type: 'result', results });
    }
    if (this.#upload === null) this.#nextUpload();
  }

  #nextBatch(): ExecutionResult[] {
    const results: ExecutionResult[] = [];
    let bytes = 0;
    let taken = 0;
    for (const execution of this.#waiting) {
      const finished = this.#journal.result(execution);
      if (finished !== null && finished.outputBytes <= OUTPUT_PART_BYTES_MAX) {
        bytes += RESULT_BYTES_MAX + finished.outputBytes * ESCAPE_FACTOR;
        if (results.length > 0 && (bytes > BATCH_BYTES_MAX || results.length === EXECUTIONS_PER_FRAME_MAX)) break;
        const output =
          finished.outputBytes === 0 ? '' : (this.#journal.output(execution, 0, OUTPUT_PART_BYTES_MAX)?.text ?? '');
        results.push(this.#result(execution, finished, output, 0));
        this.#sent.add(execution);
      } else if (finished !== null) {
        this.#long.push(execution);
      }
      taken += 1;
    }
    this.#waiting.splice(0, taken);
    return results;
  }

  #nextUpload(): void {
    const execution = this.#long.shift();
    if (execution === undefined) return;
    this.#upload = { execution, part: 0, next: 0 };
    this.#sendPart(this.#upload);
  }

  #sendPart(upload: Upload): void {
    const finished = this.#journal.result(upload.execution);
    if (finished === null) return this.#endUpload(); // settled meanwhile
    if (upload.next >= finished.outputBytes) {
      this.#sent.add(upload.execution);
      this.#send({ type: 'result', results: [this.#result(upload.execution, finished, '', upload.part)] });
      return this.#endUpload();
    }
    const text = this.#partOf(upload);
    if (text === null) return this.#endUpload();
    upload.next += Buffer.byteLength(text);
    this.#send({ type: 'output-part', execution: upload.execution, part: upload.part, text });
  }

  /**
   * Wherever code points lie, part n ends n + 1 times OUTPUT_PART_BYTES_MAX into the output, or up to 2 bytes before
   * that or 1 behind it: OUTPUT_PARTS_MAX of them carry all that is kept. Where every letter that was read takes one
   * byte, the last is one more than a part may have.
   */
  #partOf({ execution, part, next }: Upload): string | null {
    const end = (part + 1) * OUTPUT_PART_BYTES_MAX;
    const piece = this.#journal.output(execution, next, end + 1 - next);
    return piece?.text.slice(0, OUTPUT_PART_BYTES_MAX) ?? null;
  }

  #result(
    execution: ExecutionId,
    { outcome, exitCode, outputTruncated, trace }: Finished,
    output: string,
    parts: number,
  ): ExecutionResult {
    return {
      execution,
      outcome,
      exit_code: Math.min(exitCode, EXIT_CODE_MAX), // an admin hangs up at a larger one, with all that is beside it
      output,
      parts,
      output_truncated: outputTruncated,
      ...(this.#tellsTraces &&
        trace !== undefined && {
          trace: { traceparent: trace.traceparent, ran_ms: trace.ranMs, ended_ms_ago: trace.endedMsAgo },
        }),
    };
  }

  #endUpload(): void {
    this.#upload = null;
    this.#nextUpload();
  }
}
