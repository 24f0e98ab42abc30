/** Every `ls` of `edge`: what all of them take, and how they end. */
import type { Command as Program } from 'commander';
import { limitOption } from './arguments.ts';
import { createClient } from './service/client.ts';
import { ending } from './until-interrupted.ts';
import { readList } from './output/listing.ts';
import { tell, write } from './output/output.ts';
import type { ReadPage } from './service/pages.ts';
import { EXIT, Problem } from './problem.ts';
import { sessionOf, type Session } from './service/session.ts';
import { sortNameOf, type Table } from './table/columns.ts';
import { isForPeople } from './table/format.ts';
import { orderOf } from './table/order.ts';
import { rowsText } from './table/text.ts';
import type { Source } from './output/watching.ts';

/** What every list takes. */
export interface ListFlags {
  readonly limit: number;
  readonly sort?: string;
  readonly quiet?: boolean;
  readonly watch?: boolean;
}

/** A list: its table, and how it is read. */
export interface ListCommand<Row, Flags> {
  /** Its name and what stands behind it; `ls` when left out, which is also `list`. */
  readonly words?: string;
  readonly description: string;
  readonly table: Table<Row>;
  /** Checks flags and words, and answers how pages are read. */
  readonly read: (session: Session, flags: Flags, words: readonly (string | undefined)[]) => Promise<ReadPage<Row>>;
  /** A feed of the same rows, where the service has one; else they are read again and again. */
  readonly watch?: (session: Session, flags: Flags, words: readonly (string | undefined)[]) => Promise<Source<Row>>;
}

/** Adds a list to a group of commands. Answers it, for more options. */
export function addListCommand<Row, Flags extends object = object>(
  group: Program,
  { words = 'ls', description, table, read, watch }: ListCommand<Row, Flags>,
): Program {
  const command = group.command(words).description(description);
  if (command.name() === 'ls') command.alias('list');
  return command
    .addOption(limitOption())
    .option('--sort <column>', `one of ${table.columns.map(sortNameOf).join(', ')}; - before it for descending`)
    .option('-q, --quiet', 'ids only, as -o id')
    .option('-w, --watch', 'draw it again as it changes, until Ctrl-C')
    .action(async (...given: readonly unknown[]) => {
      const called = given.at(-1) as Program;
      const flags = called.opts<Flags & ListFlags>();
      const named = given.slice(0, -2) as readonly (string | undefined)[];
      const session = sessionOf(called);
      const format = flags.quiet === true ? 'id' : session.format;
      if (flags.watch === true)
        return watchHere(session, flags, table, (watched) => startSource(watched, flags, named));
      const shown = await readList(session.api, table, await read(session, flags, named), {
        limit: flags.limit,
        sort: flags.sort,
        isForPeople: isForPeople(format),
      });
      await write(rowsText(shown.rows, table, { ...session.view(shown.nodeName), format }));
      if (shown.totalCount > shown.rows.length)
        tell(`${shown.rows.length} of ${shown.totalCount} shown: --limit N shows more`);
      return undefined;
    });

  async function startSource(
    session: Session,
    flags: Flags & ListFlags,
    named: readonly (string | undefined)[],
  ): Promise<Source<Row>> {
    if (watch !== undefined) return watch(session, flags, named);
    const { polled } = await import('./output/watching.ts');
    return polled(session, table, await read(session, flags, named), flags);
  }
}

async function watchHere<Row>(
  session: Session,
  { limit, sort, quiet }: ListFlags,
  table: Table<Row>,
  start: (session: Session) => Promise<Source<Row>>,
): Promise<void> {
  if (!process.stdout.isTTY || !isForPeople(session.format) || quiet === true)
    throw new Problem(
      '--watch draws a table on a terminal: for programs there is edge events tail -o ndjson',
      EXIT.usage,
    );
  if (sort !== undefined) orderOf(table, sort);
  const { watchList } = await import('./output/watching.ts');
  const { signal } = ending();
  const watched = { ...session, api: createClient(session.connection, signal) };
  try {
    await watchList(watched, table, await start(watched), { sort, limit, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
