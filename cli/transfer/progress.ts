/** One line on stderr that says how far a transfer is, rewritten in place. Only for people. */
import { bytesText } from './bytes.ts';

/** Between two rewrites, in ms: what a person can follow. */
const REWRITE_MS = 200;

/** Takes the line away. */
const CLEAR = '\r\u001b[2K';

/** Counts machines and bytes. Nothing is shown where stderr is no terminal. */
export class TransferProgress {
  readonly #stream: { readonly isTTY?: boolean; write(text: string): unknown };
  readonly #machines: number;
  readonly #startedMs: number;
  #ended = 0;
  #bytes = 0;
  #wanted = 0;
  #shownMs = Number.NEGATIVE_INFINITY;
  #isShown = false;

  /** Begins now, for so many machines. */
  constructor(stream: { readonly isTTY?: boolean; write(text: string): unknown }, machines: number) {
    this.#stream = stream;
    this.#machines = machines;
    this.#startedMs = performance.now();
  }

  /** So many bytes more are to go. */
  wanted(bytes: number): void {
    this.#wanted += bytes;
    this.#show();
  }

  /** So many bytes more are there. */
  moved(bytes: number): void {
    this.#bytes += bytes;
    this.#show();
  }

  /** One machine more is over. Takes the line away, so that something can be said of it. */
  ended(): void {
    this.#ended += 1;
    this.clear();
  }

  clear(): void {
    if (this.#isShown) this.#stream.write(CLEAR);
    this.#isShown = false;
    this.#shownMs = Number.NEGATIVE_INFINITY;
  }

  #show(): void {
    const nowMs = performance.now();
    if (this.#stream.isTTY !== true || nowMs - this.#shownMs < REWRITE_MS) return;
    this.#shownMs = nowMs;
    this.#isShown = true;
    const seconds = Math.max(0.001, (nowMs - this.#startedMs) / 1_000);
    this.#stream.write(
      `${CLEAR}${this.#ended}/${this.#machines} done, ${bytesText(this.#bytes)} of ${bytesText(this.#wanted)}, ${bytesText(this.#bytes / seconds)}/s`,
    );
  }
}
