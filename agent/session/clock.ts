/** Time as the parts of an agent see it. */
import { startTimer } from '../../transport/net/streams/timer.ts';
import type { SessionClock } from './ports.ts';

/** That of this process. What waits for it keeps the process alive. */
export const CLOCK: SessionClock = {
  nowMs: () => performance.now(),
  after: (ms, act) => startTimer(ms, act, { isHolding: true }),
};
