/** `edge context` and `edge logout`. */
import type { Command as Program } from 'commander';
import { shownUrl } from '../service/connection.ts';
import { chosenContext, readContexts, storeContexts, type Contexts } from '../service/contexts.ts';
import { tell, write } from '../output/output.ts';
import { EXIT, Problem } from '../problem.ts';
import { formatOf } from '../table/format.ts';
import type { Table } from '../table/columns.ts';
import { plainView, rowsText } from '../table/text.ts';

interface Row {
  readonly name: string;
  readonly current: boolean;
  readonly url: string | null;
  readonly has_key: boolean;
  readonly proxy_url: string | null;
}

const TABLE: Table<Row> = {
  id: ({ name }) => name,
  columns: [
    ['CURRENT', ({ current }) => (current ? '*' : '')],
    ['NAME', 'name'],
    ['URL', 'url'],
    ['KEY', ({ has_key: has }) => (has ? 'yes' : 'no')],
    ['PROXY', 'proxy_url'],
  ],
};

const HELP = `
Examples:
  edge login --context test --url http://test:44000     remembers another service, and uses it from now on
  edge context use prod
  edge --context test node ls                           for one call; EDGE_CONTEXT does the same`;

/** Services that `edge login` remembers: list, choose. */
export function addContextCommands(program: Program): void {
  const context = program
    .command('context')
    .description('services that edge login remembers')
    .addHelpText('after', HELP);

  context
    .command('ls')
    .alias('list')
    .description('list them, without their keys')
    .action(async (_flags: object, command: Program) => {
      const { output } = command.optsWithGlobals<{ readonly output?: string }>();
      await write(rowsText(rowsOf(readContexts(process.env)), TABLE, plainView(formatOf(output ?? 'table'))));
    });

  context
    .command('use <name>')
    .description('use this one when nothing else is said')
    .action((name: string) => {
      const contexts = readContexts(process.env);
      storeContexts({ ...contexts, current: known(contexts, name) }, process.env);
      tell(`${name} is used from now on: ${shownUrl(contexts.connections.get(name)?.url ?? '-')}`);
    });
}

/** Forgets what `edge login` remembers. */
export function addLogoutCommand(program: Program): void {
  program
    .command('logout')
    .description('forget the current service and its key, or that of --context or EDGE_CONTEXT')
    .option('--all', 'forget all of them')
    .action(({ all }: { readonly all?: boolean }) => {
      const contexts = readContexts(process.env);
      if (contexts.connections.size === 0)
        throw new Problem('nothing is remembered: nobody is logged in', EXIT.notFound);
      const name = known(contexts, chosenContext(process.env) ?? contexts.current);
      const left = new Map(all === true ? [] : [...contexts.connections].filter(([one]) => one !== name));
      const current = left.has(contexts.current) ? contexts.current : ([...left.keys()][0] ?? contexts.current);
      storeContexts({ current, connections: left }, process.env);
      tell(
        `${all === true ? 'all is' : `${name} is`} forgotten${left.size > 0 ? `; ${current} is used from now on` : ''}`,
      );
    });
}

function rowsOf({ current, connections }: Contexts): readonly Row[] {
  return [...connections].map(([name, { url, key, proxyUrl }]) => ({
    name,
    current: name === current,
    url: url ?? null,
    has_key: key !== undefined,
    proxy_url: proxyUrl ?? null,
  }));
}

function known({ connections }: Contexts, name: string): string {
  if (connections.has(name)) return name;
  throw new Problem(`there is no context "${name}": edge context ls shows all`, EXIT.notFound);
}
