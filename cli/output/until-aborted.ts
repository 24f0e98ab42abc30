/** Following a feed for as long as somebody wants it. */

/**
 * Resolves when `signal` aborts, which ends the subscription, or when `open` says that the feed has ended. Rejects with
 * what `open` says that it failed with.
 */
export function untilAborted(
  signal: AbortSignal,
  open: (ended: () => void, failed: (error: unknown) => void) => { unsubscribe(): void },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const subscription = open(resolve, reject);
    const end = (): void => {
      subscription.unsubscribe();
      resolve();
    };
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
}
