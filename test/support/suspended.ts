/**
 * To be imported into a program before its own code: its monotonic clock does not run while it is stopped, as that of a
 * machine that is suspended. A machine cannot be suspended in a test; with this a stopped process is the nearest thing
 * to it. The timers of Node cannot be reached: they see the time pass, and fire at once when it goes on.
 */

/**
 * A process that was not asked for the time for so long was stopped, in ms: the timer below asks ten times a second.
 */
const STOPPED_MS_MIN = 2_000;

const realNow = performance.now.bind(performance);
let lastMs = realNow();
let stoppedMs = 0;

performance.now = () => {
  const nowMs = realNow();
  if (nowMs - lastMs > STOPPED_MS_MIN) stoppedMs += nowMs - lastMs;
  lastMs = nowMs;
  return nowMs - stoppedMs;
};

setInterval(() => performance.now(), 100).unref();
