/** An attempt to log in to a node by SSH: what was tried, what it came to, and how many are looked at. */
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

/** How many attempts of a node are still looked at, as of `atMs`. */
export interface SshAllowance {
  readonly left: number;
  /** How many refusals without a look are still told of. */
  readonly told: number;
  readonly atMs: number;
}

/** A node that nobody tried to log in to. One object for all. */
export const FULL_ALLOWANCE: SshAllowance = {
  left: SSH_ATTEMPTS_BURST_MAX,
  told: SSH_REFUSALS_TOLD_BURST_MAX,
  atMs: 0,
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
export function refund({ left, told, atMs }: SshAllowance, method: SshTried['method']): SshAllowance {
  return { told, left: Math.min(SSH_ATTEMPTS_BURST_MAX, left + (method === 'public_key' ? 2 : 1)), atMs };
}

/** What is left after one more attempt; null when there were too many. */
export function spend(allowance: SshAllowance, nowMs: number): SshAllowance | null {
  const now = refilled(allowance, nowMs);
  return now.left < 1 ? null : { ...now, left: now.left - 1 };
}

/** What is left after one more refusal without a look was told of; null when there were too many. */
export function tell(allowance: SshAllowance, nowMs: number): SshAllowance | null {
  const now = refilled(allowance, nowMs);
  return now.told < 1 ? null : { ...now, told: now.told - 1 };
}

function refilled({ left, told, atMs }: SshAllowance, nowMs: number): SshAllowance {
  const seconds = Math.max(0, nowMs - atMs) / 1_000;
  return {
    left: Math.min(SSH_ATTEMPTS_BURST_MAX, left + seconds * SSH_ATTEMPTS_PER_SECOND),
    told: Math.min(SSH_REFUSALS_TOLD_BURST_MAX, told + seconds * SSH_REFUSALS_TOLD_PER_SECOND),
    atMs: nowMs,
  };
}
