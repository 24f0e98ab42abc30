/** `edge doctor`. */
import type { Command as Program } from 'commander';
import type { Api, Node } from '../client.ts';
import { checksText, plain, reportText, showsColours } from '../doctor/report-text.ts';
import { labelsOf, nodeIdOf } from '../node-names.ts';
import { rowsText, tell, write } from '../output.ts';
import { firstRows } from '../pages.ts';
import { EXIT } from '../problem.ts';
import { sessionOf } from '../session.ts';

/** Nodes that are listed, and of those the ones that are diagnosed: each may take 15 s. */
const NODES_LISTED_MAX = 1_000;
const NODES_DIAGNOSED_MAX = 16;

/** Nodes that are diagnosed at the same time. */
const AT_ONCE_MAX = 8;

/** The worst first. */
const NOT_HEALTHY = ['unreachable', 'unhealthy'] as const satisfies readonly Node['status'][];

/** What is wrong with a node; without one, with the admin and all nodes that are not healthy. Exit status 1 when something fails. */
export function addDoctorCommand(program: Program): void {
  program.command('doctor [node]').description('say what is wrong, and what to do: with a node, or without one with the admin and all nodes that are not healthy')
    .addHelpText('after', '\nExit status: 0 nothing failed, 1 something did.')
    .action(async (name: string | undefined, _flags: object, command: Program) => {
      process.exitCode = await (name === undefined ? examineAll(command) : examineNode(name, command)) ? EXIT.ok : EXIT.failed;
    });
}

async function examineNode(name: string, command: Program): Promise<boolean> {
  const { api, record, format } = sessionOf(command);
  const report = await api.get_node_diagnostics.query({ id: await nodeIdOf(api, name) });
  await (format === 'table' ? write(reportText(report, { isColoured: showsColours(process.stdout, process.env) })) : record(report));
  return report.overall !== 'fail';
}

/** The first nodes are diagnosed, all are listed. */
async function examineAll(command: Program): Promise<boolean> {
  const { api, record, format } = sessionOf(command);
  const health = await api.check_admin_health.query({});
  const { nodes, totalCount } = await notHealthy(api);
  const reports = new Map(await inTurns(nodes.slice(0, NODES_DIAGNOSED_MAX), async ({ id }) => [id, await api.get_node_diagnostics.query({ id })] as const));
  const isWell = health.healthy && totalCount === 0;
  if (format !== 'table') {
    await record({ healthy: isWell, admin: health, nodes: nodes.map((node) => ({ node, diagnosis: reports.get(node.id) ?? null })) });
    return isWell;
  }
  await write(rowsText(health.checks, [['CHECK', (check) => check.name], ['STATE', ({ healthy }) => healthy ? 'pass' : 'fail'], ['MS', ({ duration_ms: ms }) => ms], ['ERROR', ({ error }) => error]], 'table'));
  const labels = labelsOf(nodes);
  const options = { isColoured: showsColours(process.stdout, process.env), onlyProblems: true };
  for (const { id, status, status_since: since, status_reason: reason, cluster_name: cluster } of nodes) {
    const label = labels.get(id) ?? id;
    await write(`\n${status}  ${label}${label === id ? '' : ` (${id})`} in ${cluster} since ${since}${reason === null ? '' : `: ${plain(reason)}`}\n${checksText(reports.get(id)?.checks ?? [], options)}`);
  }
  if (totalCount > reports.size) tell(`${reports.size} of ${totalCount} nodes that are not healthy were diagnosed: edge doctor NODE does the others`);
  if (isWell) tell('all nodes are healthy');
  return isWell;
}

async function notHealthy(api: Api): Promise<{ readonly nodes: readonly Node[]; readonly totalCount: number }> {
  const lists = await Promise.all(NOT_HEALTHY.map((status) => firstRows(NODES_LISTED_MAX, (page) => api.list_nodes.query({ status__in: [status], ...page }))));
  return { nodes: lists.flatMap(({ rows }) => rows).slice(0, NODES_LISTED_MAX), totalCount: lists.reduce((sum, list) => sum + list.totalCount, 0) };
}

async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const done: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) done[index] = await work(items[index] as T);
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, worker));
  return done;
}
