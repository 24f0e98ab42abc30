/** Streams outputs that somebody watches over one connection, as fast as the socket takes them and no faster. */
import type { AgentFrameBody } from '../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { OUTPUT_PART_BYTES_MAX, TAILS_PER_SESSION_MAX } from '../../transport/protocol/limits.ts';
import type { OutputCursor, SessionRunner } from './ports.ts';

type Send = (body: AgentFrameBody) => void;

/**
 * Lives as long as its connection. It says `end` only of an output of which it has sent the last byte: whatever else
 * stops a stream is silent, and the admin tells its readers what is stored.
 */
export class TailSender {
  readonly #runner: SessionRunner;
  readonly #send: Send;
  readonly #isRoomy: () => boolean;
  readonly #cursors = new Map<ExecutionId, OutputCursor>();

  constructor(runner: SessionRunner, send: Send, isRoomy: () => boolean) {
    this.#runner = runner;
    this.#send = send;
    this.#isRoomy = isRoomy;
  }

  /** Begins, or begins again, at byte `offset`. For one too many, which an older admin asks for, the oldest stops. */
  open(execution: ExecutionId, offset: number): void {
    this.close(execution);
    const oldest = this.#cursors.keys().next().value;
    if (this.#cursors.size >= TAILS_PER_SESSION_MAX && oldest !== undefined) this.close(oldest);
    const cursor = this.#runner.tail(execution, offset, () => this.#pump(execution));
    if (cursor === null) return;
    this.#cursors.set(execution, cursor);
    this.#pump(execution);
  }

  close(execution: ExecutionId): void {
    this.#cursors.get(execution)?.close();
    this.#cursors.delete(execution);
  }

  closeAll(): void {
    for (const cursor of this.#cursors.values()) cursor.close();
    this.#cursors.clear();
  }

  /** Sends what the socket has room for. */
  pump(): void {
    for (const execution of this.#cursors.keys()) this.#pump(execution);
  }

  #pump(execution: ExecutionId): void {
    const cursor = this.#cursors.get(execution);
    if (cursor === undefined) return;
    while (this.#isRoomy()) {
      const isLast = cursor.ended; // read before the piece: output that came in between is still fetched
      const piece = cursor.read(OUTPUT_PART_BYTES_MAX);
      if (piece === null) {
        if (isLast) this.#end(execution);
        return;
      }
      this.#send({ type: 'tail-output', execution, offset: piece.offset, text: piece.text, end: false });
    }
  }

  #end(execution: ExecutionId): void {
    const offset = this.#cursors.get(execution)?.offset ?? 0;
    this.close(execution);
    this.#send({ type: 'tail-output', execution, offset, text: '', end: true });
  }
}
