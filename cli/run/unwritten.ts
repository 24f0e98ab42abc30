/** What was received and is not yet taken by whoever reads it: bounded, as a reader may be slow, or stand still. */

/** So much waits at most before nothing more is received, in bytes; on it goes when half of that was taken. */
export const UNWRITTEN_BYTES_MAX = 4_194_304;

/** Writes in order, and says when it has enough. */
export class Unwritten {
  readonly #write: (text: string) => Promise<void>;
  #bytes = 0;
  #writing = Promise.resolve();
  #room: PromiseWithResolvers<void> | null = null;

  constructor(write: (text: string) => Promise<void>) {
    this.#write = write;
  }

  /** Puts a text behind what waits. Answers as `room` does. */
  add(text: string): Promise<void> | null {
    const bytes = Buffer.byteLength(text);
    this.#bytes += bytes;
    this.#writing = this.#writing.then(() => this.#write(text));
    const taken = (): void => this.#taken(bytes);
    this.#writing.then(taken, taken); // what cannot be written waits no longer either; `written` says so
    return this.room();
  }

  /** Does something else when all that waits now is written. */
  behind(act: () => void): void {
    this.#writing = this.#writing.then(act);
    this.#writing.catch(() => {}); // as above
  }

  /** Null: more may come. Else resolves when it may. */
  room(): Promise<void> | null {
    if (this.#bytes > UNWRITTEN_BYTES_MAX) this.#room ??= Promise.withResolvers();
    return this.#room?.promise ?? null;
  }

  /** Resolves when all is written, rejects when it cannot be. */
  written(): Promise<void> {
    return this.#writing;
  }

  #taken(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#bytes > UNWRITTEN_BYTES_MAX / 2) return;
    this.#room?.resolve();
    this.#room = null;
  }
}
