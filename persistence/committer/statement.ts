/** What the statements of hot writes have in common. */
import type { PoolClient, QueryConfig } from 'pg';
import type { HotWrite } from '../../actors/writes.ts';

/** The connection of an open transaction. */
export type Client = Pick<PoolClient, 'query'>;
/** Writes of one kind. */
export type Of<K extends HotWrite['kind']> = Extract<HotWrite, { kind: K }>;

/** A statement of a batch. */
export interface Statement {
  /** The server remembers its plan under it. */
  readonly name?: string;
  /** What stands before `text` in its WITH. */
  readonly with?: string;
  readonly text: string;
  readonly values: unknown[];
  /** What it returns as `key` where each of its writes finds its row; absent where it refuses nothing. */
  readonly wanted?: ReadonlySet<string>;
}

/** The statements that store all writes of one kind, in their order. Keys are as `keyOf` makes them. */
export type StatementsOf<K extends HotWrite['kind']> = (writes: readonly Of<K>[]) => readonly Statement[];

/** What a write is about, to find it among those that applied. */
export function keyOf(write: HotWrite): string {
  switch (write.kind) {
    case 'command-created':
      return write.command.id;
    case 'command-cancel-requested':
      return write.command;
    case 'node-status':
    case 'node-labelled':
      return write.node;
    case 'delivery-made':
    case 'delivery-attempted':
    case 'delivery-reopened':
      return write.delivery;
    case 'self-update-asked':
    case 'self-update-triggered':
    case 'self-update-failed':
    case 'self-update-ended':
      return `${write.request}:${write.node}`;
    case 'ssh-verified':
      return `${write.node}:${write.session}:${write.attempt}`;
    case 'output-part':
      return `${write.execution}:${write.part}`;
    case 'execution-cancel-requested':
    case 'execution-finished':
    case 'execution-sent':
    default:
      return write.execution;
  }
}

/** The keys of all of these. */
export function keysOf(writes: readonly HotWrite[]): ReadonlySet<string> {
  return new Set(writes.map(keyOf));
}

/** Sends a statement. Resolves with the wanted keys that it did not find. */
export async function missedBy(client: Client, statement: Statement): Promise<readonly string[]> {
  const { rows } = await client.query<{ key: string }>(asQuery(statement));
  if (statement.wanted === undefined) return [];
  const found = new Set(rows.map(({ key }) => key));
  return [...statement.wanted].filter((key) => !found.has(key));
}

/** SQLSTATE of a statement that did not find all that it wanted. Source: migration all_found. */
const NOT_ALL_FOUND = 'UF001';

/** The same, as one that the server refuses, and with it the transaction, unless it finds all that it wants. */
export function orRefused(statement: Statement): QueryConfig {
  if (statement.wanted === undefined) return asQuery(statement);
  const { name, text, values, wanted } = statement;
  const before = statement.with === undefined ? '' : `${statement.with}, `;
  return {
    ...(name !== undefined && { name: `${name}-all` }),
    text: `with ${before}found as (${text}) select all_found(count(distinct key), $${values.length + 1}::bigint) from found`,
    values: [...values, wanted.size],
  };
}

/** Whether the server refused one of `orRefused`. */
export function isRefused(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === NOT_ALL_FOUND;
}

function asQuery({ name, with: before, text, values }: Statement): QueryConfig {
  return { ...(name !== undefined && { name }), text: before === undefined ? text : `with ${before} ${text}`, values };
}

/**
 * PostgreSQL stores no NUL in text; a process may well print one. It is replaced like any other byte that is no text.
 */
export function storable(text: string | null): string | null {
  return text?.includes('\0') === true ? text.replaceAll('\0', '\uFFFD') : text;
}
