/**
 * Answers of a machine that are waited for. ssh2 answers what is asked before a connection ends, and says nothing to
 * what is asked after that: here both reject.
 */

/** Told of an error, or of the answer. */
export type Done<T> = (error: Error | null | undefined, answer: T) => void;

/** Those of one connection. */
export class PendingAnswers {
  readonly #rejects = new Set<(reason: Error) => void>();
  #end: Error | null = null;

  /**
   * Resolves with what `done` is told, or rejects with its error, with what `ask` throws, or when the connection ends.
   */
  ask<T>(ask: (done: Done<T>) => unknown): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (this.#end !== null) {
      reject(this.#end);
      return promise;
    }
    this.#rejects.add(reject);
    const done: Done<T> = (error, answer) => {
      this.#rejects.delete(reject);
      if (error) reject(error);
      else resolve(answer);
    };
    try {
      ask(done);
    } catch (error) {
      this.#rejects.delete(reject);
      reject(error); // ssh2 throws where the server lacks an extension
    }
    return promise;
  }

  /** The connection has ended. */
  end(reason: Error): void {
    this.#end ??= reason;
    for (const reject of this.#rejects) reject(this.#end);
    this.#rejects.clear();
  }
}
