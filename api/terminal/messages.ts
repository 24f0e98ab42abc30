/**
 * What goes over the WebSocket of a terminal. Text is one JSON object a message, bytes have a byte before them that
 * names their channel. Who sent bytes may have WINDOW_BYTES under way; `taken` says how many have arrived where they
 * were to go.
 */
import { z } from 'zod';
import { SSH_KEY_ALGORITHMS } from '../../transport/protocol/ssh.ts';
import { NodeIdInput } from '../inputs/inputs.ts';
import { IN_WORDS } from '../inputs/issue-words.ts';
import { SIDE_MAX, TEXT_BYTES_MAX, WINDOW_BYTES } from './limits.ts';
import type { FileEntry } from './ports.ts';

/** The subprotocol, which both sides name. */
export const TERMINAL_PROTOCOL = 'edge.terminal.v1';

/** The byte before bytes: of the shell, or of the one file that moves. */
export const CHANNELS = { shell: 0, file: 1 } as const;
/** One of them. */
export type Channel = keyof typeof CHANNELS;

const side = z.int().min(1).max(SIDE_MAX);
const size = z.strictObject({ columns: side, rows: side });
const path = z
  .string()
  .min(1)
  .max(4_096)
  .regex(/^[^\0]+$/u, 'must have no NUL');
const publicKey = z
  .string()
  .max(2_048)
  .regex(
    new RegExp(String.raw`^(?:${SSH_KEY_ALGORITHMS.join('|')}) [A-Za-z0-9+/]+={0,2}$`, 'u'),
    'must be a line of OpenSSH without a comment',
  );

/**
 * How somebody signs in: a password, or a key that the client has. It is asked to sign, and keeps its private half.
 * `is_new`: the key is let in for as long as this terminal, by `create_ssh_public_key`, and deleted after it.
 */
const signIn = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('password'), password: z.string().min(1).max(128) }),
  z.strictObject({ type: z.literal('key'), public_key: publicKey, is_new: z.boolean() }),
]);

/** What a client says. */
export const ClientMessage = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('open'),
    node_id: NodeIdInput,
    username: z.string().min(1).max(32),
    sign_in: signIn,
    terminal: size.describe('Of the shell.'),
  }),
  z.strictObject({ type: z.literal('signature'), signature: z.base64().max(2_048) }),
  z.strictObject({ type: z.literal('resize'), ...size.shape }),
  z.strictObject({
    type: z.literal('taken'),
    channel: z.enum(['shell', 'file']),
    bytes: z.int().min(1).max(WINDOW_BYTES),
  }),
  z.strictObject({ type: z.literal('list'), path }),
  z.strictObject({ type: z.literal('download'), path }),
  z.strictObject({ type: z.literal('upload'), path, replaces: z.boolean() }),
  z.strictObject({ type: z.literal('uploaded') }),
  z.strictObject({ type: z.literal('make_folder'), path, may_exist: z.boolean() }),
  z.strictObject({ type: z.literal('rename'), path, to: path }),
  z.strictObject({ type: z.literal('delete'), path }),
  z.strictObject({ type: z.literal('cancel') }),
  z.strictObject({ type: z.literal('ping') }),
]);
export type ClientMessage = z.output<typeof ClientMessage>;

/** What a client sent, or what is wrong with it. */
export function clientMessage(data: Buffer): ClientMessage | string {
  if (data.length > TEXT_BYTES_MAX) return `A message may have ${TEXT_BYTES_MAX} bytes.`;
  let json: unknown;
  try {
    json = JSON.parse(data.toString());
  } catch {
    return 'A message is no JSON.';
  }
  const message = ClientMessage.safeParse(json, IN_WORDS);
  if (message.success) return message.data;
  const [issue] = message.error.issues;
  const where = issue?.path.join('.') ?? '';
  return `A message is wrong: ${where}${where === '' ? '' : ': '}${issue?.message ?? ''}`;
}

/** The first one. */
export type OpenMessage = Extract<ClientMessage, { readonly type: 'open' }>;

/** Why a terminal is over. `exited`: its shell ended. */
export type OverReason = 'exited' | 'refused' | 'cut' | 'idle' | 'old' | 'session_over' | 'stopping' | 'misused';

/**
 * Close codes: it is over as it should be; the client broke the rules; the service goes away. Source: RFC 6455, 7.4.1.
 */
export const CLOSE_CODE: Readonly<Record<OverReason, number>> = {
  exited: 1_000,
  refused: 1_000,
  cut: 1_000,
  idle: 1_000,
  old: 1_000,
  session_over: 4_003,
  stopping: 1_001,
  misused: 4_008,
};

/** What the service says. */
export type ServiceMessage =
  /** To be signed with the key, as base64, within the time for logging in. */
  | { readonly type: 'sign'; readonly data: string }
  | {
      readonly type: 'opened';
      /** Whether what the shell shows is recorded on the node. */
      readonly is_recorded: boolean;
      /**
       * The key that the machine has shown, as ssh-keygen -l does, and whether it is the one that the service knows.
       */
      readonly host_key: { readonly fingerprint: string; readonly is_known: boolean };
      /** Whether `ping` is answered: it was not always. */
      readonly answers_pings: boolean;
    }
  | { readonly type: 'taken'; readonly channel: Channel; readonly bytes: number }
  /** To `ping`, at once. */
  | { readonly type: 'pong' }
  | { readonly type: 'exit'; readonly code: number | null; readonly signal: string | null }
  | {
      readonly type: 'listed';
      /** Where it is, without links and dots. */
      readonly path: string;
      readonly entries: readonly FileEntry[];
      /** There are more. */
      readonly is_cut: boolean;
    }
  | { readonly type: 'downloading'; readonly path: string; readonly bytes: number }
  | { readonly type: 'uploading'; readonly path: string }
  /** The file is whole. */
  | { readonly type: 'moved'; readonly path: string; readonly bytes: number }
  /** A folder was made, or something was renamed or deleted. */
  | { readonly type: 'changed'; readonly path: string }
  | { readonly type: 'file_failed'; readonly message: string }
  | { readonly type: 'over'; readonly reason: OverReason; readonly message: string };
