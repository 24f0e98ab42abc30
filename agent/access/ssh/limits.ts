/** Every bound of the SSH server, with its unit. */
import { SSH_SESSIONS_TOLD_MAX } from '../../../transport/protocol/ssh-sessions.ts';
import { KEY_EXCHANGE_MS_MAX } from '../../../transport/net/ssh/limits.ts';

/** Those that an operator of a test or a benchmark may set otherwise. */
export interface SshLimits {
  /** From the first byte to the login, in ms. Source: docs/limits.md; sshd gives 120 s. */
  readonly loginMsMax: number;
  /** Attempts of one connection, keys that were only offered included. Source: sshd's MaxAuthTries. */
  readonly triesMax: number;
  /** Connections that are not logged in yet. One more cuts the oldest. sshd has MaxStartups. */
  readonly unauthenticatedMax: number;
  /** Of one address. Not of loopback: whoever comes through an admin comes from there. */
  readonly unauthenticatedPerAddressMax: number;
  /** Wrong passwords and signatures of one address in a minute; what comes then waits or is refused. */
  readonly failuresMax: number;
  /** Live connections of one user, and of all. */
  readonly connectionsPerUserMax: number;
  readonly connectionsMax: number;
  /** Of them, those of which is told who they are; the others are counted. */
  readonly sessionsToldMax: number;
  /** Channels of one connection: sessions and forwarded streams. */
  readonly channelsMax: number;
  /** Ports on this machine that one connection forwards to its client (-R). */
  readonly remoteForwardsMax: number;
  /**
   * Silence after which a client is asked whether it is there, in ms, and how many such questions stay unanswered at
   * most.
   */
  readonly keepAliveMs: number;
  readonly keepAlivesMissedMax: number;
  /** A new key exchange that is not over by then is cut, in ms. */
  readonly keyExchangeMsMax: number;
  /** From HUP to KILL of what a vanished client leaves running, in ms. */
  readonly hangUpMs: number;
}

/** What holds unless a test says otherwise. */
export const SSH_LIMITS: SshLimits = {
  loginMsMax: 30_000,
  triesMax: 6,
  unauthenticatedMax: 32,
  unauthenticatedPerAddressMax: 8,
  failuresMax: 20,
  connectionsPerUserMax: 16,
  connectionsMax: 64,
  sessionsToldMax: SSH_SESSIONS_TOLD_MAX,
  channelsMax: 32,
  remoteForwardsMax: 16,
  keepAliveMs: 30_000,
  keepAlivesMissedMax: 3,
  keyExchangeMsMax: KEY_EXCHANGE_MS_MAX,
  hangUpMs: 5_000,
};

/**
 * Bytes that wait in the socket of a client before nothing more is written to it, or read from it, until they are gone.
 * Source: transport/protocol/limits.ts has the same for sessions.
 */
export const SOCKET_WAITING_BYTES_MAX = 1_048_576;

/** A client has this long to close a connection that this server has ended, in ms; then it is cut. */
export const GOODBYE_MS_MAX = 1_000;
