/** `edge cluster`. */
import type { Command as Program } from 'commander';
import { limitWord, positiveInteger } from '../arguments.ts';
import type { Outputs } from '../service/client.ts';
import { clusterOf, doneToCluster, ofCluster } from '../names/clusters.ts';
import { addListCommand, type ListFlags } from '../lists.ts';
import { tell } from '../output/output.ts';
import type { Table } from '../table/columns.ts';
import { sessionOf } from '../service/session.ts';

const TABLE: Table<Outputs['list_clusters']['data'][number]> = {
  id: ({ name }) => name,
  sortedBy: 'name',
  columns: [
    ['NAME', 'name', { cut: 12, sorts: 'name' }],
    ['NODES', 'node_count', { sorts: 'node_count' }],
    ['LIMIT', 'node_limit', { sorts: 'node_limit' }],
    ['CREATED', 'inserted_at', { age: true, drop: 3, sorts: 'inserted_at' }],
    ['IPV4', 'ipv4_range', { drop: 1 }],
    ['IPV6', 'ipv6_range', { cut: 12, drop: 2 }],
    ['DOMAIN', 'vpn_domain', { wide: true }],
    ['ID', 'id', { wide: true, id: true }],
  ],
};

/** Ranges of private networks, which most machines have one of. Source: RFC 1918. */
const PRIVATE_IPV4 = /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)/u;

interface CreateFlags {
  readonly ipv4?: string;
  readonly ipv6?: string;
  readonly limit?: number;
}

/** Clusters: list, look at, create, limit and remove. */
export function addClusterCommands(program: Program): void {
  const cluster = program.command('cluster').description('groups of nodes');

  addListCommand<Outputs['list_clusters']['data'][number], { readonly name?: string } & ListFlags>(cluster, {
    description: 'list clusters',
    table: TABLE,
    read:
      async ({ api }, { name }) =>
      (page) =>
        api.list_clusters.query({ ...page, ...(name !== undefined && { name }) }),
  }).option('--name <pattern>', 'only those that are called so (with * as wildcard)');

  cluster
    .command('get <name>')
    .alias('show')
    .description('show a cluster and its first nodes')
    .action(async (name: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      await record(await clusterOf(api, name));
    });

  cluster
    .command('create <name>')
    .description('create a cluster')
    .option('--ipv4 <range>', 'IPv4 range; one that is free is taken when left out')
    .option('--ipv6 <range>', 'IPv6 range; one that is free is taken when left out')
    .option('--limit <n>', 'most nodes that it may hold', positiveInteger)
    .action(create);

  cluster
    .command('limit <name> <n>')
    .description('change how many nodes a cluster may hold: a number, or unlimited')
    .action(async (name: string, limit: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      const node_limit = limitWord('the limit', limit);
      await record(await ofCluster(name, () => api.update_cluster.mutate({ name, node_limit })));
    });

  cluster
    .command('rm <names...>')
    .description('remove clusters that hold no node')
    .action(async (names: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const name of names)
        await doneToCluster(name, 'removed', () => ofCluster(name, () => api.delete_cluster.mutate({ name })));
    });
}

async function create(name: string, flags: CreateFlags, command: Program): Promise<void> {
  const { api, record } = sessionOf(command);
  const created = await doneToCluster(name, 'made', () =>
    api.create_cluster.mutate({
      name,
      ...(flags.ipv4 && { ipv4_range: flags.ipv4 }),
      ...(flags.ipv6 && { ipv6_range: flags.ipv6 }),
      ...(flags.limit && { node_limit: flags.limit }),
    }),
  );
  await record(created);
  if (flags.ipv4 !== undefined && PRIVATE_IPV4.test(created.ipv4_range))
    tell(
      `${created.ipv4_range} is a range of private networks: machines of ${name} that run as root reach it by the VPN from now on, and no longer what has such an address beside them`,
    );
}
