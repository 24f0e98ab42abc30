/** `edge node`. */
import type { Command as Program } from 'commander';
import { limitOption, words } from '../arguments.ts';
import type { Node } from '../client.ts';
import { nodeIdOf } from '../node-names.ts';
import type { Columns } from '../table.ts';
import { sessionOf } from '../session.ts';

const COLUMNS: Columns<Node> = [
  ['ID', 'id'],
  ['ALIASES', ({ aliases }) => aliases.map(({ name }) => name).join(',') || null],
  ['CLUSTER', 'cluster_name'],
  ['STATUS', 'status'],
  ['SINCE', 'status_since'],
  ['VERSION', 'version'],
  ['LAST SEEN', 'last_seen_at'],
  ['REASON', 'status_reason'],
];

interface ListFlags {
  readonly cluster?: readonly string[];
  readonly status?: readonly string[];
  readonly limit: number;
}

/** Nodes: list, look at, move and remove. */
export function addNodeCommands(program: Program): void {
  const node = program.command('node').description('machines whose agents are enrolled');

  node
    .command('ls')
    .description('list nodes')
    .option('-c, --cluster <names>', 'only of these clusters (with * as wildcard)', words)
    .option('-s, --status <statuses>', 'only healthy, unhealthy or unreachable ones', words)
    .addOption(limitOption())
    .action(async (flags: ListFlags, command: Program) => {
      const { api, list } = sessionOf(command);
      const filters = {
        ...(flags.cluster && { cluster_name__in: flags.cluster }),
        ...(flags.status && { status__in: flags.status as readonly Node['status'][] }),
      };
      await list(COLUMNS, flags.limit, (page) => api.list_nodes.query({ ...filters, ...page }));
    });

  node
    .command('get <node>')
    .description('show a node')
    .action(async (name: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      await record(await api.get_node.query({ id: await nodeIdOf(api, name) }));
    });

  node
    .command('metrics <node>')
    .description('show what a node measures now, of its machine and its agent; takes METRICS_KEY or MASTER_KEY')
    .action(async (name: string, _flags: object, command: Program) => {
      const { api, format, record } = sessionOf(command);
      const metrics = await api.get_node_metrics.query({ node_id: await nodeIdOf(api, name) });
      await record(format === 'table' ? flat(metrics) : metrics);
    });

  node
    .command('rm <nodes...>')
    .description('remove nodes: their open executions are dropped and their agents locked out')
    .action(async (names: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      const ids = await Promise.all(names.map((name) => nodeIdOf(api, name)));
      for (const id of ids) await api.delete_node.mutate({ id });
    });

  node
    .command('move <node> <cluster>')
    .description('move a node to another cluster')
    .action(async (name: string, cluster: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      await record(await api.change_node_cluster.mutate({ id: await nodeIdOf(api, name), cluster_name: cluster }));
    });
}

/** Leaves by their paths, as a table has them; what is not known is left out. */
function flat(record: object, before = ''): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(record).flatMap(([field, value]: [string, unknown]): (readonly [string, unknown])[] => {
      if (value === null) return [];
      return typeof value === 'object' ? Object.entries(flat(value, `${before}${field}.`)) : [[before + field, value]];
    }),
  );
}
