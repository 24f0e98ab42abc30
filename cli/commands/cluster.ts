/** `edge cluster`. */
import type { Command as Program } from 'commander';
import { limitOption, limitOrNone, positiveInteger } from '../arguments.ts';
import type { Outputs } from '../client.ts';
import type { Columns } from '../table.ts';
import { sessionOf } from '../session.ts';

const COLUMNS: Columns<Outputs['list_clusters']['data'][number]> = [
  ['NAME', 'name'],
  ['NODES', 'node_count'],
  ['LIMIT', 'node_limit'],
  ['IPV4', 'ipv4_range'],
  ['IPV6', 'ipv6_range'],
];

/** Clusters: list, look at, create, limit and remove. */
export function addClusterCommands(program: Program): void {
  const cluster = program.command('cluster').description('groups of nodes');

  cluster
    .command('ls')
    .description('list clusters')
    .addOption(limitOption())
    .action(async (flags: { readonly limit: number }, command: Program) => {
      const { api, list } = sessionOf(command);
      await list(COLUMNS, flags.limit, (page) => api.list_clusters.query(page));
    });

  cluster
    .command('get <name>')
    .description('show a cluster and its first nodes')
    .action(async (name: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      await record(await api.get_cluster.query({ name }));
    });

  cluster
    .command('create <name>')
    .description('create a cluster')
    .option('--ipv4 <range>', 'IPv4 range; one that is free is taken when left out')
    .option('--ipv6 <range>', 'IPv6 range; one that is free is taken when left out')
    .option('--limit <n>', 'most nodes that it may hold', positiveInteger)
    .action(
      async (
        name: string,
        flags: { readonly ipv4?: string; readonly ipv6?: string; readonly limit?: number },
        command: Program,
      ) => {
        const { api, record } = sessionOf(command);
        await record(
          await api.create_cluster.mutate({
            name,
            ...(flags.ipv4 && { ipv4_range: flags.ipv4 }),
            ...(flags.ipv6 && { ipv6_range: flags.ipv6 }),
            ...(flags.limit && { node_limit: flags.limit }),
          }),
        );
      },
    );

  cluster
    .command('limit <name> <n>')
    .description('change how many nodes a cluster may hold: a number, or unlimited')
    .action(async (name: string, limit: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      await record(await api.update_cluster.mutate({ name, node_limit: limitOrNone(limit) }));
    });

  cluster
    .command('rm <names...>')
    .description('remove clusters that hold no node')
    .action(async (names: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const name of names) await api.delete_cluster.mutate({ name });
    });
}
