/** Parts of a page that are loaded when they are wanted: tried again where the admin was away. */

/** Waited before it is tried again, in ms. */
export const LOAD_AGAIN_MS = 10_000;

/**
 * Loads it, and again until it is there or the returned function is called. `failed`: told each time it could not be
 * loaded. Chromium asks for it anew then, as of 156 at the latest; browsers that keep a module that failed do not while
 * the page is open, so that it should offer to load the page anew.
 */
export function loadUntilThere<T>(load: () => Promise<T>, there: (loaded: T) => void, failed: () => void): () => void {
  let isWanted = true;
  let again: ReturnType<typeof setTimeout> | undefined;
  const attempt = (): void => {
    load().then(
      (loaded) => (isWanted ? there(loaded) : undefined),
      () => {
        if (!isWanted) return;
        failed();
        again = setTimeout(attempt, LOAD_AGAIN_MS);
      },
    );
  };
  attempt();
  return () => {
    isWanted = false;
    clearTimeout(again);
  };
}
