/** How a connection of a session ends: which end is that of the session as well, and what is said of the others. */
import type { Log } from '../../transport/net/log.ts';
import { CLOSE, DELETED_REASON, RECOVERED_REASON } from '../../transport/protocol/close-codes.ts';

/** One that ended. `wasLive`: an admin had welcomed it. */
export interface Ending {
  readonly admin: string;
  readonly code: number;
  readonly reason: string;
  readonly wasLive: boolean;
}

/** Said where an admin takes the token back and this machine may still be the node. */
export const TAKEN_BACK =
  'The token of this node is good no longer: the node was enrolled again, by a late try of this machine or by one with a copy of its data directory, or is gone. What runs goes on, and the admin is asked in a while';

/** Said where another session has the node. */
export const REPLACED =
  'A newer session of this node took over: does another agent run with a copy of this data directory?';

/** Whether this machine is the node no more, for good: no other end is that of the session. */
export function isFinal({ code, reason }: Pick<Ending, 'code' | 'reason'>): boolean {
  return code === CLOSE.revoked && (reason === DELETED_REASON || reason === RECOVERED_REASON);
}

/** The close code of a connection that ended without one. Source: RFC 6455, 7.4.1. */
const NOBODY = 1_006;

/** The first close code that is an application's own. Source: RFC 6455, 7.4.2. */
const CLOSE_OWN_MIN = 4_000;

/**
 * Whether an end without a welcome came of an admin: its close codes, or a refusal of the token. What else answers at
 * its URL is an ingress, a filter or a portal in its place, and 1006 is nobody.
 */
export function isAnswerOfAdmin(code: number): boolean {
  return code >= CLOSE_OWN_MIN || code === 401 || code === 429;
}

/**
 * Whether an end without a welcome surely came of no admin: nobody is there, or what is there says that it has nothing
 * of the kind. One that starts, ends or has no room answers 5xx, by an ingress too, and is asked again.
 */
export function isNoAdmin(code: number): boolean {
  return code === NOBODY || (code < 500 && !isAnswerOfAdmin(code));
}

/** Notes an end after which the next admin is tried. */
export function logEnd({ admin, code, reason, wasLive }: Ending, log: Log): void {
  log[wasLive ? 'info' : 'warn'](
    { admin, code, reason },
    wasLive ? 'The session ended' : 'The admin cannot be reached',
  );
}
