/**
 * The one timer for waits that a setting, a peer or a row decides: Node's own takes every delay that it cannot hold for
 * 1 ms.
 */

/** The longest delay of Node's timers, in ms, 24.8 days. Source: Node, documentation of setTimeout. */
export const TIMER_MS_MAX = 2_147_483_647;

/**
 * Runs it once after so many ms, however many they are. `isHolding`: the process lives until then. The returned
 * function cancels.
 */
export function startTimer(
  ms: number,
  run: () => void,
  { isHolding = false }: { readonly isHolding?: boolean } = {},
): () => void {
  let timer: NodeJS.Timeout;
  arm(ms);

  function arm(leftMs: number): void {
    timer =
      leftMs > TIMER_MS_MAX ? setTimeout(() => arm(leftMs - TIMER_MS_MAX), TIMER_MS_MAX) : setTimeout(run, leftMs);
    if (!isHolding) timer.unref();
  }

  return () => clearTimeout(timer);
}
