/** `edge node`. */
import type { Command as Program } from 'commander';
import { words, wordsOf } from '../arguments.ts';
import type { Node } from '../service/client.ts';
import { ofCluster } from '../names/clusters.ts';
import { addListCommand, type ListFlags } from '../lists.ts';
import { nodeIdOf, ofNode } from '../names/node-names.ts';
import { labelsText, NODE_STATUSES, NODE_TABLE } from '../output/node-table.ts';
import type { NodeFilters } from '../output/node-source.ts';
import { HISTORY_TABLE, historyRows } from '../output/node-history.ts';
import { SSH_SESSION_TABLE } from '../output/node-ssh-sessions.ts';
import { tell, write } from '../output/output.ts';
import { EXIT, Problem } from '../problem.ts';
import { sessionOf } from '../service/session.ts';
import { isForPeople } from '../table/format.ts';
import { shortId } from '../table/short-ids.ts';
import { rowsText } from '../table/text.ts';
import { addNodeAdd } from './node-add.ts';
import { addPlaceOptions, isPlaced, targetingOf, type Places } from '../names/targeting.ts';

interface NodeFlags {
  readonly cluster?: readonly string[];
  readonly status?: readonly Node['status'][];
  readonly labels?: string;
  readonly os?: readonly string[];
  readonly arch?: readonly string[];
}

const LABEL_HELP = `
Examples:
  edge node label web-1,web-2 env=prod zone=a
  edge node label canary -l env=prod,zone=a        a label without a value
  edge node label canary- --all                    takes it away

Exit status: 0 done, 4 no node matches, 6 some nodes refused; 1, 2, 3 as of edge.`;

/** Nodes: list, look at, label, move and remove. */
export function addNodeCommands(program: Program): void {
  const node = program.command('node').description('machines whose agents are enrolled');

  addNodeAdd(node);
  addNodeList(node);

  node
    .command('get <node>')
    .alias('show')
    .description('show a node')
    .action(async (name: string, _flags: object, command: Program) => {
      const { api, record, format } = sessionOf(command);
      const found = await ofNode(name, nodeIdOf(api, name), (id) => api.get_node.query({ id }));
      await record(isForPeople(format) ? nodeFields(found) : found);
    });

  addNodeMetrics(node);
  addNodeSessions(node);

  node
    .command('rm <nodes...>')
    .description('remove nodes: their open executions are dropped and their agents locked out')
    .action(async (names: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      const ids = await Promise.all(names.map((name) => nodeIdOf(api, name)));
      for (const [index, id] of ids.entries())
        await ofNode(names[index] ?? id, Promise.resolve(id), () => api.delete_node.mutate({ id }));
    });

  addPlaceOptions(
    node
      .command('label <labels...>')
      .description('set labels of nodes (KEY=VALUE, or KEY alone) and remove them (KEY-)'),
  )
    .addHelpText('after', LABEL_HELP)
    .action(labelNodes);

  node
    .command('move <node> <cluster>')
    .description('move a node to another cluster')
    .action(async (name: string, cluster: string, _flags: object, command: Program) => {
      const { api, record, format } = sessionOf(command);
      await ofCluster(cluster, () => api.get_cluster.query({ name: cluster }));
      const moved = await ofNode(name, nodeIdOf(api, name), (id) =>
        api.change_node_cluster.mutate({ id, cluster_name: cluster }),
      );
      await record(isForPeople(format) ? nodeFields(moved) : moved);
    });
}

/** `edge node metrics`. */
function addNodeMetrics(node: Program): void {
  node
    .command('metrics <node>')
    .description('show what a node measures now, of its machine and its agent; takes METRICS_KEY or MASTER_KEY')
    .option('--history', 'what it measured in the last hour, a line for each 15 s; network in bytes a second')
    .action(async (name: string, { history }: { readonly history?: true }, command: Program) => {
      const { api, format, record, view } = sessionOf(command);
      if (history === true) {
        const kept = await ofNode(name, nodeIdOf(api, name), (id) =>
          api.get_node_metrics_history.query({ node_id: id }),
        );
        return write(rowsText(historyRows(kept), HISTORY_TABLE, view()));
      }
      const metrics = await ofNode(name, nodeIdOf(api, name), (id) => api.get_node_metrics.query({ node_id: id }));
      return record(isForPeople(format) ? flat(metrics) : metrics);
    });
}

/** `edge node sessions`. */
function addNodeSessions(node: Program): void {
  node
    .command('sessions <node>')
    .description('show who is logged in to a node by SSH now, and what each has open, the latest first')
    .action(async (name: string, _flags: object, command: Program) => {
      const { api, view } = sessionOf(command);
      const told = await ofNode(name, nodeIdOf(api, name), (id) => api.get_node_ssh_sessions.query({ node_id: id }));
      await write(rowsText(told.sessions, SSH_SESSION_TABLE, view()));
      const more = told.session_count - told.sessions.length;
      if (more > 0) tell(`${more} more are logged in, of whom its agent tells nothing`);
    });
}

/** Nodes may stand first, where no option says which are meant. */
async function labelNodes(given: readonly string[], options: Places, command: Program): Promise<void> {
  const [first = '', ...rest] = given;
  const isNodes = rest.length > 0 && !isPlaced(options) && !first.includes('=');
  const places = isNodes ? { ...options, node: words(first) } : options;
  const changes = labelChangesOf(isNodes ? rest : given);
  const { api, format, record } = sessionOf(command);
  const done = await api.label_nodes.mutate({ targeting: await targetingOf(api, places), ...changes });
  if (done.node_count === 0)
    throw new Problem('no node matches, so nothing was labelled: edge node ls shows what there is', EXIT.notFound);
  if (!isForPeople(format)) await record(done);
  for (const { node_id: id, message } of done.failed) tell(`${shortId(id)}: ${message}`);
  tell(`${done.labelled_count} of ${done.node_count} labelled`);
  process.exitCode = done.failed_count > 0 ? EXIT.someFailed : EXIT.ok;
}

/** `KEY=VALUE` and `KEY` set, `KEY-` removes. */
function labelChangesOf(given: readonly string[]): {
  readonly set?: Readonly<Record<string, string>>;
  readonly remove?: string[];
} {
  const set = given.filter((text) => text.includes('=') || !text.endsWith('-'));
  const removed = given.filter((text) => !set.includes(text)).map((text) => text.slice(0, -1));
  const labels = set.map((text) => {
    const [key = '', ...value] = text.split('=');
    return [key, value.join('=')] as const;
  });
  return {
    ...(labels.length > 0 && { set: Object.fromEntries(labels) }),
    ...(removed.length > 0 && { remove: removed }),
  };
}

function filtersOf({ cluster, status, labels, os, arch }: NodeFlags): NodeFilters {
  return {
    ...(cluster && { cluster_name__in: cluster }),
    ...(status && { status__in: status }),
    ...(labels !== undefined && { labels }),
    ...(os && { os__in: os }),
    ...(arch && { arch__in: arch }),
  };
}

/** `edge node ls`. */
function addNodeList(node: Program): void {
  addListCommand<Node, NodeFlags & ListFlags>(node, {
    description: 'list nodes',
    table: NODE_TABLE,
    read:
      async ({ api }, flags) =>
      (page) =>
        api.list_nodes.query({ ...filtersOf(flags), ...page }),
    watch: async (session, flags) =>
      (await import('../output/node-source.ts')).nodeSource(session, filtersOf(flags), flags),
  })
    .option('-c, --cluster <names>', 'only of these clusters (with * as wildcard)', words)
    .option(
      '-s, --status <statuses>',
      'only healthy, unhealthy or unreachable ones',
      wordsOf('--status', NODE_STATUSES),
    )
    .option('-l, --labels <selector>', "only with these labels, such as 'env=prod,tier!=db,zone in (a,b),!gpu'")
    .option('--os <names>', 'only of these systems, such as debian', words)
    .option('--arch <names>', 'only of these architectures, such as aarch64', words);
}

/** A node as people read it: what it is called first, and no JSON within. */
function nodeFields({ id, name, cluster_name, status, aliases, labels, ...rest }: Node): object {
  const names = aliases.map((alias) => alias.name).join(',') || null;
  return flat({ id, name, cluster_name, status, aliases: names, labels: labelsText(labels), ...rest });
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
