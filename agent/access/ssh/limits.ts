/** Every bound of the SSH server, with its unit. */

/** Those that an operator of a test or a benchmark may set otherwise. */
export interface SshLimits {
  /** From the first byte to the login, in ms. Source: docs/limits.md; sshd gives 120 s. */
  readonly loginMsMax: number;
  /** Attempts of one connection, keys that were only offered included. Source: sshd's MaxAuthTries. */
  readonly triesMax: number;
  /** Connections that are not logged in yet. One more cuts the oldest. */
  readonly strangersMax: number;
  /** Of one address. Not of loopback: whoever comes through an admin comes from there. */
  readonly strangersPerAddressMax: number;
  /** Wrong passwords and signatures of one address in a minute; what comes then waits or is refused. */
  readonly failuresMax: number;
  /** Live connections of one user, and of all. */
  readonly connectionsPerUserMax: number;
  readonly connectionsMax: number;
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
  /** From HUP to KILL of what a vanished client leaves running, in ms. */
  readonly hangUpMs: number;
}

/** What holds unless a test says otherwise. */
export const SSH_LIMITS: SshLimits = {
  loginMsMax: 30_000,
  triesMax: 6,
  strangersMax: 32,
  strangersPerAddressMax: 8,
  failuresMax: 20,
  connectionsPerUserMax: 16,
  connectionsMax: 64,
  channelsMax: 32,
  remoteForwardsMax: 16,
  keepAliveMs: 30_000,
  keepAlivesMissedMax: 3,
  hangUpMs: 5_000,
};

/**
 * How long an answer waits from loopback, where nobody can be told apart, once there were too many failures, in ms.
 * Only a no waits.
 */
export const FAILURE_DELAY_MS = 2_000;

/** The window in which failed logins of one address are counted, in ms. */
export const FAILURE_WINDOW_MS = 60_000;

/** Addresses whose failures are remembered; the oldest is forgotten for a new one. */
export const FAILURE_ADDRESSES_MAX = 1_024;

/**
 * Bytes that wait in the socket of a client before nothing more is written to it, or read from it, until they are gone.
 * Source: transport/protocol/limits.ts has the same for sessions.
 */
export const SOCKET_WAITING_BYTES_MAX = 1_048_576;

/** Output of a process that waits for its channel before the process is not read any more, in bytes. */
export const OUTPUT_WAITING_BYTES_MAX = 262_144;

/** Variables that a client may set for one session, and the longest value, in characters. */
export const VARIABLES_MAX = 64;
export const VARIABLE_CHARS_MAX = 4_096;

/**
 * Characters of a command: what fits the largest packet that ssh2 takes, 35,000 bytes. A longer one ends the connection
 * there; scripts go through stdin.
 */
export const COMMAND_CHARS_MAX = 32_768;

/** Sides of a terminal, in characters. The kernel keeps 16 bits; sshd and everybody's terminals are far below. */
export const TERMINAL_SIDE_MAX = 4_096;

/** Characters of a terminal's name. */
export const TERMINAL_NAME_CHARS_MAX = 64;

/** A client has this long to close a connection that this server has ended, in ms; then it is cut. */
export const GOODBYE_MS_MAX = 1_000;

/** How long the database of accounts may take, in ms: it may be in a network. */
export const ACCOUNT_MS_MAX = 5_000;

/** Waits before a terminal that takes no input is tried again, in ms. */
export const TERMINAL_RETRY_MS_MIN = 1;
export const TERMINAL_RETRY_MS_MAX = 50;

/** After the end of a terminal's program its last output may take this long without a byte, in ms. */
export const TERMINAL_SILENCE_MS_MAX = 200;

/**
 * A program that closed its outputs is mostly about to end; its client hears of their end apart from that of the
 * program only after this, in ms.
 */
export const EXIT_AWAITED_MS = 250;
