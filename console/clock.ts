/** The time, for whoever shows how long ago something was. */
import { signal } from '@preact/signals';

/** Unix ms, a second late at most while the page is seen. */
export const nowMs = signal(Date.now());

const EVERY_MS = 1_000;

/** Lets it go on. A page that nobody sees stands still, and is right again at the first look. */
export function startClock(): void {
  const tick = (): void => {
    if (!document.hidden) nowMs.value = Date.now();
  };
  setInterval(tick, EVERY_MS);
  document.addEventListener('visibilitychange', tick);
}
