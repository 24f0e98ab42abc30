/**
 * How an agent hands a recording of an SSH session to an admin: a description in a header, the gzipped asciicast
 * (version 2) as body.
 */
import { z } from 'zod';
import { Uuid } from './ids.ts';
import { SSH_USERNAME_CHARS_MAX } from './limits.ts';

/** The header of an upload that describes the recording: base64url of JSON. */
export const RECORDING_HEADER = 'x-edge-recording';

/** Content type of an upload. */
export const RECORDING_TYPE = 'application/gzip';

/** Characters of that header: the longest description fits, and so do the 8 KiB that proxies give one header. */
export const RECORDING_HEADER_CHARS_MAX = 6_144;

/** Characters of a command that a description names; of a longer one it has the beginning. */
export const RECORDING_COMMAND_CHARS_MAX = 512;

/** Text that the settings may give one recording at most, in bytes before compression. */
export const RECORDING_TEXT_BYTES_MAX = 67_108_864;

/**
 * A recording's text may be so much longer than the settings say, in bytes: its header line, and the end of what was
 * cut.
 */
export const RECORDING_SLACK_BYTES = 65_536;

/** Sides of a terminal, in characters. Source: agent/access/ssh/limits.ts, TERMINAL_SIDE_MAX. */
const SIDE_MAX = 4_096;

/** Instants that an ISO 8601 year of four digits holds, in Unix ms. */
const INSTANT_MS_MAX = Date.UTC(9_999, 11, 31);

/** PostgreSQL holds neither in a text. */
const storable = (charactersMax: number) =>
  z
    .string()
    .max(charactersMax)
    .refine((text) => !text.includes('\u0000') && text.isWellFormed(), 'must be valid Unicode without NUL characters');

/** Whose session was recorded, and when. */
export const RecordingDescription = z.strictObject({
  ssh_username_id: Uuid,
  username: storable(SSH_USERNAME_CHARS_MAX).min(1),
  /** By the clock of the agent's machine. */
  started_at_ms: z.int().min(0).max(INSTANT_MS_MAX),
  duration_ms: z.int().min(0).max(2_147_483_647),
  width: z.int().min(1).max(SIDE_MAX),
  height: z.int().min(1).max(SIDE_MAX),
  /** Null: a shell. */
  command: storable(RECORDING_COMMAND_CHARS_MAX).nullable(),
  /** The session went on, and what came then was left out. */
  truncated: z.boolean(),
});
export type RecordingDescription = z.infer<typeof RecordingDescription>;

/** The header of a description. A command that is too long or that no database holds is made to fit. */
export function encodeRecordingDescription(description: RecordingDescription): string {
  const command =
    description.command?.replaceAll('\u0000', '\uFFFD').slice(0, RECORDING_COMMAND_CHARS_MAX).toWellFormed() ?? null;
  return Buffer.from(JSON.stringify({ ...description, command })).toString('base64url');
}

/** The description in a header; else why there is none, in one sentence. */
export function decodeRecordingDescription(header: string): RecordingDescription | string {
  if (header.length > RECORDING_HEADER_CHARS_MAX) return `is longer than ${RECORDING_HEADER_CHARS_MAX} characters`;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(header, 'base64url').toString('utf8'));
  } catch {
    return 'must be base64url of JSON';
  }
  const parsed = RecordingDescription.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return `${issue?.path.join('.') || 'the description'}: ${issue?.message ?? 'is not valid'}`;
}
