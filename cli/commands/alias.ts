/** `edge alias`. */
import type { Command as Program } from 'commander';
import { limitOption } from '../arguments.ts';
import type { Outputs } from '../client.ts';
import { nodeIdOf } from '../node-names.ts';
import type { Columns } from '../table.ts';
import { EXIT, Problem } from '../problem.ts';
import { sessionOf } from '../session.ts';

const COLUMNS: Columns<Outputs['list_aliases']['data'][number]> = [
  ['NAME', 'name'],
  ['CLUSTER', 'cluster_name'],
  ['NODE', 'node_id'],
  ['HOST NAME', 'vpn_hostname'],
  ['ID', 'id'],
];

/** Aliases: give, list and take away. */
export function addAliasCommands(program: Program): void {
  const alias = program.command('alias').description('friendly names of nodes');

  alias
    .command('add <node> <name>')
    .description('give a node an alias')
    .action(async (node: string, name: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      await record(await api.create_alias.mutate({ node_id: await nodeIdOf(api, node), name }));
    });

  alias
    .command('ls')
    .description('list aliases')
    .addOption(limitOption())
    .action(async (flags: { readonly limit: number }, command: Program) => {
      const { api, list } = sessionOf(command);
      await list(COLUMNS, flags.limit, (page) => api.list_aliases.query(page));
    });

  alias
    .command('rm <name>')
    .description('take an alias away')
    .option('-c, --cluster <name>', 'the cluster it is of, where several have one of this name')
    .action(async (name: string, flags: { readonly cluster?: string }, command: Program) => {
      const { api } = sessionOf(command);
      const {
        data: [found, ...more],
      } = await api.list_aliases.query({ name, ...(flags.cluster && { cluster_name: flags.cluster }) });
      if (found === undefined) throw new Problem(`there is no alias "${name}": edge alias ls shows all`, EXIT.notFound);
      if (more.length > 0)
        throw new Problem(`${more.length + 1} clusters have an alias "${name}": say which with -c`, EXIT.usage);
      await api.delete_alias.mutate({ id: found.id });
    });
}
