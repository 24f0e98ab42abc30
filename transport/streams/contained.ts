/** Handlers of what comes from outside, whose throws end one connection and not the program. */

/**
 * The same handler, whose throw goes to `failed` with what it was called with. For listeners of sockets, servers and parsers: Node turns a throw
 * there into an uncaught exception, which ends the program with everybody's connections. Whoever uses it cuts that one connection and says so in
 * the log: it is a fault all the same. `failed` must not throw.
 */
export function contained<Args extends readonly unknown[]>(handle: (...args: Args) => void, failed: (error: unknown, ...args: Args) => void): (...args: Args) => void {
  return (...args) => {
    try {
      handle(...args);
    } catch (error) {
      failed(error, ...args);
    }
  };
}
