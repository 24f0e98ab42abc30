/** Something that ends, and what must be undone then: a test, a test file, or a round of chaos. */

/** Takes what is to be done at the end. Ava's test contexts are such. */
export interface Scope {
  teardown(task: () => void | Promise<void>): void;
}

/** A scope that is ended by hand, last first; every task is done even when one fails. */
export function createScope(): Scope & { end(): Promise<void> } {
  const tasks: (() => void | Promise<void>)[] = [];
  return {
    teardown(task) {
      tasks.push(task);
    },
    async end() {
      const errors: unknown[] = [];
      for (const task of tasks.splice(0).toReversed()) {
        try {
          await task();
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw new AggregateError(errors, 'what was started could not be ended');
    },
  };
}
