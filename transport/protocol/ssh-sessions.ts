/** Who is logged in to a machine by SSH now: told by its agent, read by admins. No word of what runs is in it. */
import { z } from 'zod';
import { SSH_USERNAME_CHARS_MAX } from './limits.ts';
import { wireText } from './text.ts';

/** Connections of which an agent tells, those that came last; the others are counted. By default it takes 64. */
export const SSH_SESSIONS_TOLD_MAX = 256;

/** Largest answer as JSON, in bytes. A connection takes some 250, of long names 500. */
export const SSH_SESSIONS_BYTES_MAX = 131_072;

/** Characters of the name of an account. Source: LOGIN_NAME_MAX of Linux. */
export const SSH_ACCOUNT_CHARS_MAX = 256;

/** What is believed of the age of a connection, in ms: ten years. */
export const SSH_SESSION_AGE_MS_MAX = 315_360_000_000;

/** What is open on one connection, each counted. */
export const SSH_OPEN_COUNTS = {
  shells: openCount(),
  commands: openCount(),
  file_transfers: openCount().describe('By SFTP.'),
  forwarded_connections: openCount().describe('Of forwarded ports, both ways.'),
  forwarded_ports: openCount().describe('Ports of the machine that lead to the client (-R).'),
} as const;

/** One of them. */
export type SshOpenKind = keyof typeof SSH_OPEN_COUNTS;

/** What is open, by its kind. */
export type SshOpenCounts = Readonly<Record<SshOpenKind, number>>;

/** One connection that is logged in. */
export const SshSession = z.object({
  username: wireText().min(1).max(SSH_USERNAME_CHARS_MAX),
  /** Of the machine. */
  account: wireText().min(1).max(SSH_ACCOUNT_CHARS_MAX),
  /** Since the login, in ms, by a clock of the machine that only goes forward, whatever time it is there. */
  age_ms: z.int().min(0).max(SSH_SESSION_AGE_MS_MAX),
  /** As the agent sees it: who comes through an admin comes from loopback. Null: not known. */
  client_address: z.union([z.ipv4(), z.ipv6()]).nullable(),
  ...SSH_OPEN_COUNTS,
  is_recorded: z.boolean(),
});
export type SshSession = z.infer<typeof SshSession>;

/** Those that came last, the latest first. */
export const SshSessions = z
  .object({
    session_count: z.int().min(0),
    sessions: z.array(SshSession).max(SSH_SESSIONS_TOLD_MAX),
  })
  .refine(({ session_count: count, sessions }) => count >= sessions.length, 'must count what it tells');
export type SshSessions = z.infer<typeof SshSessions>;

function openCount() {
  return z.int().min(0);
}
