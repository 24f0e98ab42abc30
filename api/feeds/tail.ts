/** `executions.tail`: the output of one execution as it comes, from any byte on, whether it waits, runs or is over. */
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import { isTerminal, type ExecutionResource, type ExecutionStatus } from '../../actors/resources/command.ts';
import { CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { TAILS_MAX, TAIL_PIECE_BYTES } from './limits.ts';
import type { FeedPorts, LiveOutput, OpenExecutionShown, TailSource } from './ports.ts';
import { FollowedIsGone, patiently, type Subscriber, type Tracked } from './subscription.ts';
import { TailHub, type TailsWaiting } from './tail-hub.ts';

/**
 * Offsets count bytes of UTF-8. A `snapshot` says where the text that follows begins; one with offset 0 replaces all
 * text so far. Between an `output` and one that begins later lies what the machine no longer keeps. `end` is last,
 * unless the execution is deleted before. The id of a message is the offset up to which the reader then has the output.
 */
export type TailMessage =
  | {
      readonly type: 'snapshot';
      readonly offset: number;
      readonly status: ExecutionStatus;
      readonly exit_code: number | null;
    }
  | { readonly type: 'output'; readonly offset: number; readonly text: string }
  | {
      readonly type: 'end';
      readonly status: ExecutionStatus;
      readonly exit_code: number | null;
      readonly output_truncated: boolean;
    };

interface Tailed {
  readonly hub: TailHub;
  readonly node: NodeId;
  readonly command: CommandId;
  /** As it was told last. */
  status: ExecutionStatus;
}

/** The feed of all outputs. */
export class TailFeed implements Pick<TailSource, 'liveOutput'> {
  readonly #ports: FeedPorts;
  readonly #tailed = new Map<string, Tailed>();
  readonly #waiting: TailsWaiting = { bytes: 0 };
  #unsubscribe: (() => void) | null = null;

  constructor(ports: FeedPorts) {
    this.#ports = ports;
  }

  /** Refuses an unknown execution; throws FollowedIsGone where it is deleted before its `end`. */
  async tail(
    execution: ExecutionId,
    subscriber: Subscriber,
  ): Promise<Result<AsyncGenerator<Tracked<TailMessage>, void, undefined>>> {
    if (!this.#tailed.has(execution) && this.#tailed.size >= TAILS_MAX)
      return refuse('service_unavailable', 'Too many executions are tailed already. Try again later.');
    const found = await this.#ports.reads.get('command_executions', execution);
    return found === null ? refuse('not_found', 'Resource not found') : ok(this.#read(found, subscriber));
  }

  async liveOutput(execution: ExecutionId, offset: number, signal: AbortSignal): Promise<LiveOutput | null> {
    const { reads, clock } = this.#ports;
    const read = () => patiently(clock, signal, () => reads.get('command_executions', execution));
    if (!this.#tailed.has(execution) && this.#tailed.size >= TAILS_MAX) return null;
    const first = await read();
    if (first === null || isTerminal(first.status)) return null;
    const one = this.#hubOf(first);
    const reader = one.hub.join(offset, signal);
    try {
      const now = await read(); // once more, as in #read
      if (now === null) one.hub.finished();
      else tell(one, now.status);
      return reader;
    } catch (error) {
      reader.leave();
      throw error;
    }
  }

  /** Executions that are tailed and not finished. */
  *open(): Iterable<OpenExecutionShown> {
    for (const [id, { node, command, status }] of this.#tailed)
      if (status === 'pending' || status === 'sent') yield { execution: ExecutionId.parse(id), command, node, status };
  }

  /** Commands of which something is tailed. */
  *watched(): Iterable<CommandId> {
    for (const { command } of this.#tailed.values()) yield command;
  }

  close(): void {
    this.#unsubscribe?.();
    this.#tailed.clear();
  }

  async *#read(
    first: ExecutionResource,
    { lastEventId, signal }: Subscriber,
  ): AsyncGenerator<Tracked<TailMessage>, void, undefined> {
    const { reads, clock } = this.#ports;
    const from = offsetOf(lastEventId);
    if (isTerminal(first.status)) {
      yield* stored(first, from, false);
      return;
    }
    yield snapshot(first, from);
    const one = this.#hubOf(first);
    const { hub } = one;
    const reader = hub.join(from, signal);
    const read = async (): Promise<ExecutionResource | null> => {
      const row = await patiently(clock, signal, () => reads.get('command_executions', first.id));
      if (row === null && !signal.aborted) throw new FollowedIsGone();
      return row;
    };
    try {
      // Read again now that the hub listens: what happened in between was told to nobody.
      const now = await read();
      if (now === null) return;
      tell(one, now.status);
      yield* live(hub, reader, signal);
      const last = await read();
      if (last !== null) yield* rest(last, reader.offset, reader.isComplete());
    } finally {
      reader.leave();
    }
  }

  #hubOf(execution: ExecutionResource): Tailed {
    this.#listen();
    const known = this.#tailed.get(execution.id);
    if (known !== undefined) return known;
    const { tails, clock } = this.#ports;
    const node = NodeId.parse(execution.node_id);
    const left = (): void => {
      this.#tailed.delete(execution.id);
      this.#ports.wantedChanged();
      if (this.#tailed.size > 0) return;
      this.#unsubscribe?.();
      this.#unsubscribe = null;
    };
    const all = this.#waiting;
    const hub = new TailHub({ tails, clock, all, node, execution: ExecutionId.parse(execution.id), left });
    const fresh: Tailed = { hub, node, command: CommandId.parse(execution.command_id), status: execution.status };
    this.#tailed.set(execution.id, fresh);
    this.#ports.wantedChanged();
    return fresh;
  }

  #listen(): void {
    this.#unsubscribe ??= this.#ports.news.subscribe((notices) => {
      for (const notice of notices) {
        if (notice.type === 'execution-changed') {
          const one = this.#tailed.get(notice.execution);
          if (one !== undefined) tell(one, notice.status);
        } else if (notice.type === 'execution-removed') this.#tailed.get(notice.execution)?.hub.finished();
        else if (notice.type === 'node-changed' || notice.type === 'command-removed') {
          for (const { hub, node, command } of this.#tailed.values()) {
            if (notice.type === 'node-changed' && notice.node === node) hub.nodeChanged();
            if (notice.type === 'command-removed' && notice.command === command) hub.finished();
          }
        }
      }
    });
  }
}

function tell(one: Tailed, status: ExecutionStatus): void {
  one.status = status;
  if (status === 'sent') one.hub.started();
  else if (isTerminal(status)) one.hub.finished();
}

async function* live(
  hub: TailHub,
  reader: LiveOutput,
  signal: AbortSignal,
): AsyncGenerator<Tracked<TailMessage>, void, undefined> {
  while (!signal.aborted) {
    const news = reader.news();
    const piece = reader.take();
    if (piece !== null)
      yield { id: String(reader.offset), data: { type: 'output', offset: piece.offset, text: piece.text } };
    else if (hub.isOver()) return;
    else await news;
  }
}

/** The stored output, for one who reads only after the end. */
function* stored(
  execution: ExecutionResource,
  from: number,
  complete: boolean,
): Generator<Tracked<TailMessage>, void, undefined> {
  if (!execution.output_truncated || from === 0) yield snapshot(execution, from);
  yield* rest(execution, from, complete);
}

/**
 * What of the stored output a reader at `from` has not had, and the end. `complete`: the agent said that it was all.
 */
function* rest(
  execution: ExecutionResource,
  from: number,
  complete: boolean,
): Generator<Tracked<TailMessage>, void, undefined> {
  const bytes = Buffer.from(execution.output ?? '');
  let at = from;
  // The middle of a long output is cut out when it is stored, so its places are not those of the live stream. One who
  // saw all of that has had at least as much as is stored.
  if (execution.output_truncated && from > 0 && !(complete && from >= bytes.length)) {
    at = 0;
    yield snapshot(execution, 0);
  }
  while (at < bytes.length) {
    const to = boundary(bytes, at + TAIL_PIECE_BYTES);
    const text = bytes.subarray(at, to).toString();
    yield { id: String(to), data: { type: 'output', offset: at, text } };
    at = to;
  }
  yield {
    id: String(at),
    data: {
      type: 'end',
      status: execution.status,
      exit_code: execution.exit_code,
      output_truncated: execution.output_truncated,
    },
  };
}

function snapshot(execution: ExecutionResource, offset: number): Tracked<TailMessage> {
  return {
    id: String(offset),
    data: { type: 'snapshot', offset, status: execution.status, exit_code: execution.exit_code },
  };
}

/** The last place at or before `at` where no character is cut. */
function boundary(bytes: Buffer, at: number): number {
  if (at >= bytes.length) return bytes.length;
  let to = at;
  while (to > 0 && ((bytes[to] ?? 0) & 0b1100_0000) === 0b1000_0000) to -= 1;
  return to;
}

function offsetOf(id: string | undefined): number {
  const offset = id !== undefined && /^\d{1,12}$/u.test(id) ? Number(id) : 0;
  return Number.isSafeInteger(offset) ? offset : 0;
}
