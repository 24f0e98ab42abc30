/** How many executions ended, by what they came to, as this admin stored or saw it. */
import type { Notice } from '../actors/notice.ts';
import type { ExecutionStatus } from '../actors/resources/command.ts';

/** Since the start. */
export type EndedExecutions = Record<Exclude<ExecutionStatus, 'pending' | 'sent'>, number>;

/** All at zero. */
export function noneEnded(): EndedExecutions {
  return { completed: 0, cancelled: 0, expired: 0, dropped: 0 };
}

/**
 * A listener of the bus that counts on `ended`. What may have been told before is left out: after an outage a batch may
 * be missing, and nothing is there twice.
 */
export function countEnded(ended: EndedExecutions): (notices: readonly Notice[]) => void {
  return (notices) => {
    for (const notice of notices) {
      if (
        notice.type !== 'execution-changed' ||
        notice.status === 'pending' ||
        notice.status === 'sent' ||
        notice.again === true
      )
        continue;
      ended[notice.status] += 1;
    }
  };
}
