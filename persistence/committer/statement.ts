/** What the statements of hot writes have in common. */
import type { PoolClient } from 'pg';
import type { HotWrite } from '../../actors/writes.ts';

/** The connection of an open transaction. */
export type Client = Pick<PoolClient, 'query'>;
/** Writes of one kind. */
export type Of<K extends HotWrite['kind']> = Extract<HotWrite, { kind: K }>;

/** Runs all writes of one kind. Returns the keys of those that applied, as `keyOf` makes them. */
export type Statement<K extends HotWrite['kind']> = (
  client: Client,
  writes: readonly Of<K>[],
) => Promise<ReadonlySet<string>>;

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

/** Runs a statement that returns the keys of the writes that found their row. */
export async function applied(
  client: Client,
  query: { readonly name: string; readonly text: string; readonly values: unknown[] },
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ key: string }>(query);
  return new Set(rows.map((row) => row.key));
}

/**
 * PostgreSQL stores no NUL in text; a process may well print one. It is replaced like any other byte that is no text.
 */
export function storable(text: string | null): string | null {
  return text?.includes('\0') === true ? text.replaceAll('\0', '\uFFFD') : text;
}
