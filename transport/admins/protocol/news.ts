/**
 * What admins say over a connection of news, as JSON. What is read may have more fields and types than are known here:
 * they are dropped.
 */
import { z } from 'zod';
import type { Notice } from '../../../actors/notice.ts';
import type { WantedNews } from '../../../actors/news.ts';
import { EXECUTION_STATUSES } from '../../../actors/resources/command.ts';
import { CommandId, ExecutionId, NodeId } from '../../protocol/ids.ts';
import { WATCHED_COMMANDS_MAX } from '../limits.ts';

/** What is told of others: a commit that this admin made. */
export type News = Extract<
  Notice,
  { readonly type: 'execution-changed' | 'node-changed' | 'node-removed' | 'command-removed' }
>;

/** From the admin that dialled. `n` rises with each want, which replaces the one before. */
export type FromDialler =
  | { readonly type: 'want'; readonly n: number; readonly wanted: WantedNews }
  | { readonly type: 'ping' }
  | FromTailing;

/**
 * From an admin at which a running execution is tailed. `n` names the tail on this connection. `tail-read`: so many
 * bytes of messages with output were read, of whatever tail.
 */
export type FromTailing =
  | {
      readonly type: 'tail';
      readonly n: number;
      readonly node: NodeId;
      readonly execution: ExecutionId;
      readonly offset: number;
    }
  | { readonly type: 'untail'; readonly n: number }
  | { readonly type: 'tail-read'; readonly bytes: number };

/**
 * To it, from the owner of the node. `offset` counts bytes of UTF-8, `end` is last. `untailed`: nothing more comes of
 * this tail, though the execution may go on: under another owner, or not to be had from here.
 */
export type FromTailed =
  | {
      readonly type: 'tail-output';
      readonly n: number;
      readonly offset: number;
      readonly text: string;
      readonly end: boolean;
    }
  | { readonly type: 'untailed'; readonly n: number };

/**
 * From the admin that was dialled. `wanted`: from here on nothing is left out of what was wanted under `n`. `missed`:
 * some was, until now.
 */
export type FromDialled =
  | { readonly type: 'wanted'; readonly n: number }
  | { readonly type: 'notices'; readonly notices: readonly News[] }
  | { readonly type: 'missed' }
  | { readonly type: 'pong' }
  | FromTailed;

const NewsNotice = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('execution-changed'),
      execution: ExecutionId,
      command: CommandId,
      node: NodeId,
      cluster_name: z.string(),
      status: z.enum(EXECUTION_STATUSES),
      exit_code: z.int().nullable(),
    }),
    z.object({ type: z.literal('node-changed'), node: NodeId }),
    z.object({ type: z.literal('node-removed'), node: NodeId }),
    z.object({ type: z.literal('command-removed'), command: CommandId }),
  ])
  .transform((notice): News => {
    if (notice.type !== 'execution-changed') return notice;
    const { cluster_name: clusterName, exit_code: exitCode, ...rest } = notice;
    return { ...rest, clusterName, exitCode };
  });

/** News that only a newer admin knows are left out. */
const Notices = z
  .array(z.unknown())
  .transform((notices) => notices.flatMap((notice) => NewsNotice.safeParse(notice).data ?? []));

const Dialler = z.discriminatedUnion('type', [
  z
    .object({
      type: z.literal('want'),
      n: z.int().nonnegative(),
      nodes: z.boolean(),
      commands: z.union([z.literal('all'), z.array(CommandId).max(WATCHED_COMMANDS_MAX)]),
    })
    .transform(({ type, n, nodes, commands }) => ({
      type,
      n,
      wanted: { nodes, commands: commands === 'all' ? commands : new Set(commands) },
    })),
  z.object({ type: z.literal('ping') }),
  z.object({
    type: z.literal('tail'),
    n: z.int().nonnegative(),
    node: NodeId,
    execution: ExecutionId,
    offset: z.int().nonnegative(),
  }),
  z.object({ type: z.literal('untail'), n: z.int().nonnegative() }),
  z.object({ type: z.literal('tail-read'), bytes: z.int().nonnegative() }),
]) satisfies z.ZodType<FromDialler>;

const Dialled = z.discriminatedUnion('type', [
  z.object({ type: z.literal('wanted'), n: z.int().nonnegative() }),
  z.object({ type: z.literal('notices'), notices: Notices }),
  z.object({ type: z.literal('missed') }),
  z.object({ type: z.literal('pong') }),
  z.object({
    type: z.literal('tail-output'),
    n: z.int().nonnegative(),
    offset: z.int().nonnegative(),
    text: z.string(),
    end: z.boolean(),
  }),
  z.object({ type: z.literal('untailed'), n: z.int().nonnegative() }),
]) satisfies z.ZodType<FromDialled>;

/** Whether this is told to others. What it told before, and who it is that has to act, stays here. */
export function isNews(notice: Notice): notice is News {
  return (
    notice.type === 'execution-changed' ||
    notice.type === 'node-changed' ||
    notice.type === 'node-removed' ||
    notice.type === 'command-removed'
  );
}

/** A notice as it is told. */
export function writtenNews(notice: News): string {
  if (notice.type !== 'execution-changed') return JSON.stringify(notice);
  const { type, execution, command, node, clusterName: cluster_name, status, exitCode: exit_code } = notice;
  return JSON.stringify({ type, execution, command, node, cluster_name, status, exit_code });
}

/** A message of these notices, written before. */
export function encodeNotices(written: readonly string[]): Buffer {
  return Buffer.from(`{"type":"notices","notices":[${written.join(',')}]}`);
}

/** Everything but notices. */
export function encodeNewsMessage(message: FromDialler | Exclude<FromDialled, { type: 'notices' }>): Buffer {
  if (message.type !== 'want') return Buffer.from(JSON.stringify(message));
  const { type, n, wanted } = message;
  const commands = wanted.commands === 'all' ? 'all' : [...wanted.commands];
  return Buffer.from(JSON.stringify({ type, n, nodes: wanted.nodes, commands }));
}

/** Null: nothing that is known here. */
export function decodeFromDialler(bytes: Buffer): FromDialler | null {
  return read(Dialler, bytes);
}

/** Null: nothing that is known here. */
export function decodeFromDialled(bytes: Buffer): FromDialled | null {
  return read(Dialled, bytes);
}

function read<T>(schema: z.ZodType<T>, bytes: Buffer): T | null {
  try {
    return schema.safeParse(JSON.parse(bytes.toString('utf8'))).data ?? null;
  } catch {
    return null; // no JSON
  }
}
