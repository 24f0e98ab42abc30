/** What agent and admin say to each other about SSH logins. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Uuid } from './ids.ts';
import { SSH_KEY_CHARS_MAX, SSH_PASSWORD_CHARS_MAX, SSH_USERNAME_CHARS_MAX } from './limits.ts';
import { RECORDING_TEXT_BYTES_MAX } from './recording.ts';
import { foreignText } from './text.ts';

/** Algorithms of keys that may log in. Source: docs/api.md, Resources. */
export const SSH_KEY_ALGORITHMS = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
] as const;
/** One of them. */
export type SshKeyAlgorithm = (typeof SSH_KEY_ALGORITHMS)[number];

/** The SHA-256 fingerprint of a public key in SSH's wire format, as `ssh-keygen -l` shows it. */
export function fingerprintOf(blob: Uint8Array): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/u, '')}`;
}

/** A user name as a client typed it: any text of a bounded length. */
export const SshUsernameTried = foreignText().max(SSH_USERNAME_CHARS_MAX);

/**
 * What a client shows. The agent itself verifies the signature of a key (E6): `none` was made yet, the client only asks
 * whether the key would do; `verified`; or `wrong`, which is told so that the attempt is known.
 */
export const SshCredential = z.discriminatedUnion('method', [
  z.object({ method: z.literal('password'), password: foreignText().max(SSH_PASSWORD_CHARS_MAX) }),
  z.object({
    method: z.literal('public_key'),
    blob: z.base64().max(SSH_KEY_CHARS_MAX),
    signature: z.enum(['none', 'verified', 'wrong']),
  }),
]);
export type SshCredential = z.infer<typeof SshCredential>;

/** Logins in one frame that no admin had answered. */
export const SSH_UNANSWERED_PER_FRAME_MAX = 64;

/**
 * A login that an agent refused by itself, since no admin answered: told when one is there, so that it is an event too.
 * Durations, because clocks of machines differ.
 */
export const UnansweredLogin = z.object({
  id: Uuid,
  username: SshUsernameTried,
  method: z.enum(['password', 'public_key']),
  ms_ago: z.int().min(0),
});
export type UnansweredLogin = z.infer<typeof UnansweredLogin>;

/** By whom a session was opened: what must still exist for it to live on. The key is null after a password. */
export const SshGrant = z.object({ ssh_username_id: Uuid, ssh_public_key_id: Uuid.nullable() });
export type SshGrant = z.infer<typeof SshGrant>;

/** The admin's answer. A yes to a key without a signature only means: sign. */
export const SshVerdict = z.discriminatedUnion('accepted', [
  z.object({ accepted: z.literal(true), grant: SshGrant }),
  z.object({ accepted: z.literal(false) }),
]);
export type SshVerdict = z.infer<typeof SshVerdict>;

/** What is recorded of SSH sessions: nothing, those with a terminal, or all. */
export const SSH_RECORDING_MODES = ['off', 'pty', 'all'] as const;

/** Which SSH sessions an agent records, and how much of each: the rest of a longer one is left out. */
export const SshRecordingSettings = z.object({
  mode: z.enum(SSH_RECORDING_MODES),
  /** Of the recording's text, before it is compressed. */
  bytes_max: z.int().min(1_024).max(RECORDING_TEXT_BYTES_MAX),
  ms_max: z.int().min(1_000),
});
export type SshRecordingSettings = z.infer<typeof SshRecordingSettings>;
