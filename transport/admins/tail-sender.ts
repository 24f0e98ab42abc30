/**
 * Tells one other admin the live output of executions on nodes of this one. What is under way is bounded by what that
 * admin has read, so that news do not wait behind a flood, and each tail has its turn.
 */
import type { LiveOutput, TailSource } from '../../api/feeds/ports.ts';
import type { Log } from '../net/log.ts';
import { TAIL_UNREAD_BYTES_MAX, TOLD_TAILS_MAX } from './limits.ts';
import { encodeNewsMessage, type FromTailed, type FromTailing } from './protocol/news.ts';

/** What it needs. */
export interface TailSenderPorts {
  readonly source: TailSource;
  readonly writer: { send(message: Uint8Array): void };
  readonly log: Log;
  /** Default: TOLD_TAILS_MAX. */
  readonly tailsMax?: number;
}

type Asked = Extract<FromTailing, { type: 'tail' }>;

interface Tail {
  readonly asked: Asked;
  readonly over: AbortController;
}

/** Lives as long as its connection. */
export class TailSender {
  readonly #ports: TailSenderPorts;
  readonly #tails = new Map<number, Tail>();
  #unreadBytes = 0;
  /** Those that wait for room, longest first. */
  #waiting: (() => void)[] = [];

  constructor(ports: TailSenderPorts) {
    this.#ports = ports;
  }

  /** Executions whose output is told. */
  get open(): number {
    return this.#tails.size;
  }

  /** What the other admin said. */
  heard(said: FromTailing): void {
    if (said.type === 'tail') return this.#start(said);
    if (said.type === 'untail') return this.#end(said.n);
    this.#unreadBytes = Math.max(0, this.#unreadBytes - said.bytes);
    this.#goOn();
  }

  /** Ends those of nodes that belong to another admin now. */
  sweep(): void {
    for (const { asked } of this.#tails.values()) if (!this.#ports.source.isHere(asked.node)) this.#untailed(asked.n);
  }

  /** Ends all of them. */
  close(): void {
    for (const n of this.#tails.keys()) this.#end(n);
  }

  #start(asked: Asked): void {
    const { source, tailsMax = TOLD_TAILS_MAX } = this.#ports;
    this.#end(asked.n);
    const tail = { asked, over: new AbortController() };
    this.#tails.set(asked.n, tail);
    if (this.#tails.size > tailsMax || !source.isHere(asked.node)) this.#untailed(asked.n);
    else void this.#told(tail);
  }

  async #told(tail: Tail): Promise<void> {
    const { asked, over } = tail;
    const { source, log } = this.#ports;
    try {
      const output = await source.liveOutput(asked.execution, asked.offset, over.signal);
      if (output !== null) await this.#pumped(tail, output).finally(() => output.leave());
    } catch (error) {
      log.warn({ error, execution: asked.execution }, 'live output could not be told to another admin');
    }
    if (this.#tails.get(asked.n) === tail) this.#untailed(asked.n);
  }

  async #pumped({ asked: { n }, over: { signal } }: Tail, output: LiveOutput): Promise<void> {
    while (!signal.aborted) {
      const news = output.news();
      if (this.#unreadBytes >= TAIL_UNREAD_BYTES_MAX) {
        await this.#room();
        continue;
      }
      const piece = output.take();
      if (piece !== null) {
        this.#tell({ type: 'tail-output', n, ...piece, end: false });
        await Promise.resolve(); // the others have their turn
      } else if (output.isComplete()) {
        this.#tails.delete(n);
        return this.#tell({ type: 'tail-output', n, offset: output.offset, text: '', end: true });
      } else if (output.isOver()) return;
      else await news;
    }
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #goOn(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const next of waiting) next();
  }

  #tell(said: FromTailed): void {
    const message = encodeNewsMessage(said);
    if (said.type === 'tail-output') this.#unreadBytes += message.byteLength;
    this.#ports.writer.send(message);
  }

  #untailed(n: number): void {
    this.#end(n);
    this.#tell({ type: 'untailed', n });
  }

  #end(n: number): void {
    this.#tails.get(n)?.over.abort();
    if (this.#tails.delete(n)) this.#goOn(); // whoever waits for room sees that it is over
  }
}
