/** An attempt to log in to a node by SSH: what was tried, what it came to, and how many are looked at. */
import { fullBucket, refund, take, type BucketLimits, type TokenBucket } from '../../transport/net/token-bucket.ts';
import { SSH_GRANTS_MAX } from '../../transport/protocol/limits.ts';
import type { SshCredential, SshGrant } from '../../transport/protocol/ssh.ts';

/**
 * Attempts at one node that are looked at in a row, and how many more a second, of those that come to nothing: each may
 * cost a password hash, and an event. Source: a person with many keys makes ten, a fleet tool at one node some dozens.
 */
export const SSH_ATTEMPTS_BURST_MAX = 120;
export const SSH_ATTEMPTS_PER_SECOND = 2;

/**
 * Refusals without a look at one node that become events in a row, and how many more a second: those of a limit, and
 * those of an agent without an admin. Beyond, they are counted only.
 */
export const SSH_REFUSALS_TOLD_BURST_MAX = 1_000;
export const SSH_REFUSALS_TOLD_PER_SECOND = 5;

/** Attempts of one node that are verified at the same time. */
export const SSH_ATTEMPTS_VERIFYING_MAX = 32;

/**
 * An attempt that is decided later than this is refused, in ms: the agent waits for 10 s, and would have to hear of it
 * by then.
 */
export const SSH_DECIDED_MS_MAX = 5_000;

/**
 * A login that an agent tells of later was tried no longer ago than this, whatever its clock says, in ms: the days for
 * which events are kept by default.
 */
export const SSH_UNANSWERED_MS_MAX = 604_800_000;

/** What a client tried, without the credential. */
export interface SshTried {
  readonly username: string;
  readonly method: SshCredential['method'];
}

/** One that is being verified. A probe shows a key without a signature: a yes only means that it may sign. */
export interface SshAttempt extends SshTried {
  readonly isProbe: boolean;
  readonly atMs: number;
}

/** What an attempt came to. `sshUsername` is null when the node has no such username; `grant` is null for a no. */
export interface SshOutcome {
  readonly sshUsername: string | null;
  readonly grant: SshGrant | null;
}

const ATTEMPT_LIMITS: BucketLimits = { tokensMax: SSH_ATTEMPTS_BURST_MAX, tokensPerSecond: SSH_ATTEMPTS_PER_SECOND };
const REFUSAL_LIMITS: BucketLimits = {
  tokensMax: SSH_REFUSALS_TOLD_BURST_MAX,
  tokensPerSecond: SSH_REFUSALS_TOLD_PER_SECOND,
};

/** What SSH at a node may still cost. */
export interface SshAllowance {
  /** Attempts that are looked at. */
  readonly attempts: TokenBucket;
  /** Refusals without a look that are told of. */
  readonly refusals: TokenBucket;
}

/** What came of asking for some of it. The allowance is to be kept either way. */
export interface SshTaking {
  readonly isTaken: boolean;
  readonly allowance: SshAllowance;
}

/** A node that nobody tried to log in to. One object for all. */
export const FULL_ALLOWANCE: SshAllowance = {
  attempts: fullBucket(ATTEMPT_LIMITS),
  refusals: fullBucket(REFUSAL_LIMITS),
};

/** SSH on one session of an agent. */
export interface SshSession {
  /** Attempts that are being verified, by the agent's number. */
  readonly attempts: ReadonlyMap<number, SshAttempt>;
  /** By whom sessions at the agent may have been opened: the latest SSH_GRANTS_MAX, in order. */
  readonly grants: ReadonlyMap<string, SshGrant>;
}

/** A session on which nobody tried anything. One object for all. */
export const NO_SSH: SshSession = { attempts: new Map(), grants: new Map() };

/** With these among the grants; the oldest are forgotten when there are too many. */
export function withGrants({ attempts, grants }: SshSession, more: readonly SshGrant[]): SshSession {
  const all = new Map(grants);
  for (const grant of more) {
    const key = `${grant.ssh_username_id} ${grant.ssh_public_key_id ?? ''}`;
    all.delete(key);
    all.set(key, grant);
  }
  return { attempts, grants: new Map([...all].slice(-SSH_GRANTS_MAX)) };
}

/**
 * What is left after a login: its own attempt does not count, nor the probe that a client makes before it signs with a
 * key.
 */
export function refundAttempt(allowance: SshAllowance, method: SshTried['method']): SshAllowance {
  return { ...allowance, attempts: refund(allowance.attempts, ATTEMPT_LIMITS, method === 'public_key' ? 2 : 1) };
}

/** One more attempt, unless there were too many. */
export function takeAttempt(allowance: SshAllowance, nowMs: number): SshTaking {
  const { isTaken, bucket } = take(allowance.attempts, ATTEMPT_LIMITS, 1, nowMs);
  return { isTaken, allowance: { ...allowance, attempts: bucket } };
}

/** One more refusal without a look is told of, unless there were too many. */
export function takeRefusal(allowance: SshAllowance, nowMs: number): SshTaking {
  const { isTaken, bucket } = take(allowance.refusals, REFUSAL_LIMITS, 1, nowMs);
  return { isTaken, allowance: { ...allowance, refusals: bucket } };
}
