/** `edge alias`. */
import type { Command as Program } from 'commander';
import { words } from '../arguments.ts';
import type { Api, Outputs } from '../service/client.ts';
import { existing, idOf } from '../names/id-names.ts';
import { addListCommand, type ListFlags } from '../lists.ts';
import { nodeIdOf, nodeIdsOf } from '../names/node-names.ts';
import type { Table } from '../table/columns.ts';
import { EXIT, Problem } from '../problem.ts';
import { sessionOf } from '../service/session.ts';
import { isUuid } from '../table/short-ids.ts';

type Alias = Outputs['list_aliases']['data'][number];

const TABLE: Table<Alias> = {
  id: ({ id }) => id,
  sortedBy: 'name',
  columns: [
    ['NAME', 'name', { cut: 12, sorts: 'name' }],
    ['CLUSTER', 'cluster_name', { cut: 8, sorts: 'cluster_name' }],
    ['NODE', 'node_id', { id: true }],
    ['CREATED', 'inserted_at', { age: true, drop: 2, sorts: 'inserted_at' }],
    ['HOST NAME', 'vpn_hostname', { cut: 16, drop: 1 }],
    ['ID', 'id', { wide: true, id: true }],
  ],
};

interface Filters {
  readonly name?: string;
  readonly cluster?: readonly string[];
  readonly node?: readonly string[];
}

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

  addListCommand<Alias, Filters & ListFlags>(alias, {
    description: 'list aliases',
    table: TABLE,
    read: async ({ api }, { name, cluster, node }) => {
      const filters = {
        ...(name !== undefined && { name }),
        ...(cluster && { cluster_name__in: cluster }),
        ...(node && { node_id__in: await nodeIdsOf(api, node) }),
      };
      return (page) => api.list_aliases.query({ ...filters, ...page });
    },
  })
    .option('--name <pattern>', 'only those that are called so (with * as wildcard)')
    .option('-c, --cluster <names>', 'only of these clusters (with * as wildcard)', words)
    .option('-n, --node <nodes>', 'only of these nodes', words);

  alias
    .command('rm <name>')
    .description('take an alias away, by its name or its id')
    .option('-c, --cluster <name>', 'the cluster it is of, where several have one of this name')
    .action(async (name: string, flags: { readonly cluster?: string }, command: Program) => {
      const { api } = sessionOf(command);
      const id = await aliasIdOf(api, name, flags.cluster);
      await existing('alias', name, api.delete_alias.mutate({ id }));
    });
}

/** The id of the alias that is meant: by id, its name, or the unique beginning of its id. Refuses a wildcard. */
async function aliasIdOf(api: Api, name: string, cluster: string | undefined): Promise<string> {
  if (name.includes('*'))
    throw new Problem(`"${name}" could mean several aliases, and one is taken away at a time`, EXIT.usage);
  if (isUuid(name)) return name;
  const {
    data: [found, ...more],
  } = await api.list_aliases.query({ name, ...(cluster && { cluster_name: cluster }) });
  if (more.length > 0)
    throw new Problem(`${more.length + 1} clusters have an alias "${name}": say which with -c`, EXIT.usage);
  return found?.id ?? idOf(api, 'alias', name);
}
