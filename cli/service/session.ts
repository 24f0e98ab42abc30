/** What every command of `edge` works with: the connection, the clients, the format, and the end. */
import type { Command as Program } from 'commander';
import { createClient, createLiveClient, type Api, type LiveClient, type LiveListener } from './client.ts';
import { showsColours } from '../output/colours.ts';
import { connectionFrom, type Connection, type ConnectionFlags } from './connection.ts';
import { write } from '../output/output.ts';
import { formatOf, type Format } from '../table/format.ts';
import { recordText, type View } from '../table/text.ts';

/** What a command of `edge` works with. */
export interface Session {
  readonly connection: Connection;
  readonly format: Format;
  readonly api: Api;
  /** The live feeds; whoever opens them closes them. */
  readonly live: (listener?: LiveListener) => LiveClient;
  /** Tells one thing. */
  readonly record: (record: object) => Promise<void>;
  /** How tables are shown on this stdout: cut to its width and in colour where it is a terminal. */
  readonly view: (nodeName?: (id: string) => string) => View;
}

/** The session of a command, from the flags that it was called with. */
export function sessionOf(command: Program, env: Readonly<Record<string, string | undefined>> = process.env): Session {
  const flags: ConnectionFlags & { readonly output?: string } = command.optsWithGlobals();
  const connection = connectionFrom(flags, env);
  const format = formatOf(flags.output ?? 'table');
  return {
    connection,
    format,
    api: createClient(connection),
    live: (listener) => createLiveClient(connection, listener),
    record: (record) => write(recordText(record, format)),
    view: (nodeName = (id) => id) => ({
      format,
      width: process.stdout.isTTY ? process.stdout.columns : null,
      isColoured: showsColours(process.stdout, env),
      nowMs: Date.now(),
      nodeName,
    }),
  };
}
