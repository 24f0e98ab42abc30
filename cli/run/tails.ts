/** The outputs of executions, line by line as they come. */
import type { Api } from '../service/client.ts';
import { subscribePatiently, type Subscription } from '../../api/client/client.ts';

/** Executions followed live at a time over one connection; of more, the outputs are told when they are over. */
export const TAILS_MAX = 100;

/**
 * A line that is longer is told in several, in characters. As much as an agent keeps of an output unless told
 * otherwise.
 */
export const LINE_CHARS_MAX = 1_048_576;

type TailMessage =
  | { readonly type: 'snapshot'; readonly offset: number }
  | { readonly type: 'output'; readonly offset: number; readonly text: string }
  | { readonly type: 'end' };

/** Who is told. */
export interface TailListener {
  /**
   * Whole lines, the last one of an output also without its newline. Answers null, or what resolves when more may come:
   * until then nothing is received.
   */
  lines(lines: readonly string[]): Promise<void> | null;
  /** So many bytes are gone: the machine keeps no more of what is read late. */
  missed(bytes: number): void;
  /** What follows is the stored output from its beginning: the live one was over before all of it was read. */
  again(): void;
}

/** Follows one output. Resolves at its end or when `signal` aborts, rejects with what the service refuses. */
export function followOutput(api: Api, id: string, signal: AbortSignal, listener: TailListener): Promise<void> {
  return new OutputTail(api, id, listener).follow(signal);
}

class OutputTail {
  readonly #api: Api;
  readonly #id: string;
  readonly #listener: TailListener;
  readonly #ended = Promise.withResolvers<void>();
  /** What was received of a line that is not whole. */
  #rest = '';
  /** Bytes of the output that were received. */
  #offset = 0;
  /** Null: more is not wanted now. */
  #subscription: Subscription | null = null;
  #isOver = false;

  constructor(api: Api, id: string, listener: TailListener) {
    this.#api = api;
    this.#id = id;
    this.#listener = listener;
  }

  async follow(signal: AbortSignal): Promise<void> {
    const aborted = (): void => this.#end(this.#ended.resolve);
    signal.addEventListener('abort', aborted, { once: true });
    try {
      if (signal.aborted) aborted();
      else this.#subscribe();
      await this.#ended.promise;
    } finally {
      signal.removeEventListener('abort', aborted);
    }
  }

  #subscribe(): void {
    if (this.#isOver) return;
    this.#subscription = subscribePatiently<TailMessage>(
      (handlers) => this.#api.executions.tail.subscribe({ id: this.#id, lastEventId: String(this.#offset) }, handlers),
      {
        data: (message) => this.#heard(message),
        failed: (error) => this.#end(() => this.#ended.reject(error)),
      },
    );
  }

  #heard(message: TailMessage): void {
    if (this.#subscription === null) return; // it was on its way when there was enough
    switch (message.type) {
      case 'snapshot':
        if (message.offset < this.#offset) this.#beginAgain();
        return;
      case 'output':
        if (message.offset > this.#offset) this.#goOn(message.offset - this.#offset);
        this.#offset = message.offset + Buffer.byteLength(message.text);
        this.#tell(this.#linesIn(message.text));
        return;
      case 'end':
        this.#end(this.#ended.resolve);
        return;
      default:
        message satisfies never;
    }
  }

  #linesIn(text: string): readonly string[] {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length < LINE_CHARS_MAX) return lines;
    lines.push(this.#rest);
    this.#rest = '';
    return lines;
  }

  #tell(lines: readonly string[]): void {
    const room = lines.length === 0 ? null : this.#listener.lines(lines);
    if (room === null) return;
    this.#subscription?.unsubscribe();
    this.#subscription = null;
    void room.then(() => this.#subscribe());
  }

  #goOn(missedBytes: number): void {
    this.#tellRest();
    this.#listener.missed(missedBytes);
  }

  #beginAgain(): void {
    this.#tellRest();
    this.#listener.again();
    this.#offset = 0;
  }

  #tellRest(): void {
    if (this.#rest !== '') void this.#listener.lines([this.#rest]); // the last of it is told in any case
    this.#rest = '';
  }

  #end(finish: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#subscription?.unsubscribe();
    this.#tellRest();
    finish();
  }
}
