/** What every command of `edge` works with: the connection, the clients, the format, and the end. */
import type { Command as Program } from 'commander';
import { createClient, createLiveClient, type Api, type LiveClient } from './client.ts';
import { connectionFrom, type Connection, type ConnectionFlags } from './connection.ts';
import { tell, write } from './output.ts';
import { formatOf, recordText, rowsText, type Columns, type Format } from './table.ts';
import { firstRows } from './pages.ts';

export interface Session {
  readonly connection: Connection;
  readonly format: Format;
  readonly api: Api;
  /** The live feeds; whoever opens them closes them. */
  readonly live: (lost?: (error: unknown) => void) => LiveClient;
  /** Tells one thing. */
  readonly record: (record: object) => Promise<void>;
  /** Tells the first `limit` rows of a list, and on stderr that there are more. */
  readonly list: <Row>(
    columns: Columns<Row>,
    limit: number,
    read: Parameters<typeof firstRows<Row>>[1],
  ) => Promise<void>;
}

/** The session of a command, from the flags that it was called with. */
export function sessionOf(command: Program, env: Readonly<Record<string, string | undefined>> = process.env): Session {
  const flags: ConnectionFlags & { readonly output?: string } = command.optsWithGlobals();
  const connection = connectionFrom(flags, env);
  const format = formatOf(flags.output ?? 'table');
  const api = createClient(connection);
  return {
    connection,
    format,
    api,
    live: (lost) => createLiveClient(connection, lost),
    record: (record) => write(recordText(record, format)),
    list: async (columns, limit, read) => {
      const { rows, totalCount } = await firstRows(limit, read);
      await write(rowsText(rows, columns, format));
      if (totalCount > rows.length) tell(`${rows.length} of ${totalCount} shown: --limit N shows more`);
    },
  };
}
