/** Which nodes are meant: for a command, for labels, for a saved group. */
import type { Command as Program } from 'commander';
import { words, wordOf } from '../arguments.ts';
import type { Api, Inputs, Node } from '../service/client.ts';
import { clusterNamesOf } from './clusters.ts';
import { nodeIdsOf } from './node-names.ts';
import { NODE_STATUSES } from '../output/node-table.ts';
import { EXIT, Problem } from '../problem.ts';
import { shellWord } from '../shell-words.ts';

/** As `create_command` takes it. */
export type Targeting = Inputs['create_command']['targeting'];

/** What was said of it. */
export interface Places {
  readonly cluster?: readonly string[];
  readonly node?: readonly string[];
  /** A saved group. */
  readonly in?: string;
  readonly labels?: string;
  readonly all?: boolean;
  readonly status?: Node['status'];
}

/** Adds the options that say which nodes are meant. */
export function addPlaceOptions(command: Program): Program {
  return command
    .option('-c, --cluster <names>', 'all nodes of these clusters (with * as wildcard)', words)
    .option(
      '-n, --node <nodes>',
      'these nodes: aliases and host names (with * as wildcard), ids or beginnings of ids',
      words,
    )
    .option(
      '-l, --labels <selector>',
      "nodes with these labels, such as 'env=prod,!gpu'; beside -c, -n and --in only those of them",
    )
    .option('--in <group>', 'the nodes of a saved group')
    .option('--all', 'all nodes')
    .option(
      '-s, --status <status>',
      'of these only the healthy, unhealthy or unreachable ones',
      wordOf('--status', NODE_STATUSES),
    );
}

/** Whether an option says which nodes are meant. */
export function isPlaced({ cluster, node, in: group, labels, all }: Places): boolean {
  return [cluster, node, group, labels, all].some((one) => one !== undefined);
}

/** The same options again, as they may be typed; with an example where none says which nodes. */
export function placeWords(places: Places): string {
  const { cluster, node, in: group, labels, all, status } = places;
  return [
    !isPlaced(places) && '-c CLUSTER',
    cluster !== undefined && `-c ${shellWord(cluster.join(','))}`,
    node !== undefined && `-n ${shellWord(node.join(','))}`,
    labels !== undefined && `-l ${shellWord(labels)}`,
    group !== undefined && `--in ${shellWord(group)}`,
    all === true && '--all',
    status !== undefined && `-s ${status}`,
  ]
    .filter((word) => word !== false)
    .join(' ');
}

/** The targeting that is meant. Names are looked up: a misspelt one would match nothing. */
export async function targetingOf(
  api: Api,
  { cluster, node, in: group, labels, all, status }: Places,
): Promise<Targeting> {
  const given = [cluster, node, group, all].filter((one) => one !== undefined).length;
  if (given > 1 || (given === 0 && labels === undefined))
    throw new Problem(
      `${given === 0 ? 'say which nodes' : 'say in one way which nodes'}: -c CLUSTER, -n NODE[,NODE], -l SELECTOR, --in GROUP or --all`,
      EXIT.usage,
    );
  const narrowed = {
    ...(labels !== undefined && { labels }),
    ...(status !== undefined && { node_filters: { status } }),
  };
  if (cluster !== undefined)
    return { type: 'clusters', cluster_names: [...(await clusterNamesOf(api, cluster))], ...narrowed };
  if (node !== undefined) return { type: 'nodes', node_ids: [...(await nodeIdsOf(api, node))], ...narrowed };
  if (group !== undefined) return { type: 'group', group, ...narrowed };
  return { type: 'all', ...narrowed };
}
