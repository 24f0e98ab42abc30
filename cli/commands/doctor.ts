/** `edge doctor`. */
import type { Command as Program } from 'commander';
import type { Api, Node } from '../service/client.ts';
import { painted } from '../output/colours.ts';
import { diagnosed, type Report } from '../doctor/diagnosed.ts';
import { checksText, reportText } from '../doctor/report-text.ts';
import { healthText } from '../output/health-text.ts';
import { inTurns } from '../in-turns.ts';
import { plainText } from '../output/plain-text.ts';
import { labelsOf, nodeIdOf, ofNode } from '../names/node-names.ts';
import { STATUS_TONES } from '../output/node-table.ts';
import { tell, write, writeOutput } from '../output/output.ts';
import { firstRows } from '../service/pages.ts';
import { EXIT } from '../problem.ts';
import { sessionOf } from '../service/session.ts';
import { isForPeople } from '../table/format.ts';
import type { View } from '../table/text.ts';
import { wrapped } from '../table/wrapping.ts';

/** Nodes that are listed, and of those the ones that are diagnosed: each may take 15 s. */
const NODES_LISTED_MAX = 1_000;
const NODES_DIAGNOSED_MAX = 16;

/** Nodes that are diagnosed at the same time. */
const AT_ONCE_MAX = 8;

/** The worst first. */
const NOT_HEALTHY = ['unreachable', 'unhealthy'] as const satisfies readonly Node['status'][];

/**
 * What is wrong with a node; without one, with the admin and all nodes that are not healthy. Exit status 1 when
 * something fails.
 */
export function addDoctorCommand(program: Program): void {
  program
    .command('doctor [node]')
    .description(
      'say what is wrong, and what to do: with a node, or without one with the admin and all nodes that are not healthy',
    )
    .addHelpText('after', '\nExit status: 0 nothing failed, 1 something did.')
    .action(async (name: string | undefined, _flags: object, command: Program) => {
      process.exitCode = (await (name === undefined ? examineAll(command) : examineNode(name, command)))
        ? EXIT.ok
        : EXIT.failed;
    });
}

async function examineNode(name: string, command: Program): Promise<boolean> {
  const { api, record, format, view } = sessionOf(command);
  const report = await ofNode(name, nodeIdOf(api, name), (id) => api.get_node_diagnostics.query({ id }));
  await (isForPeople(format) ? writeOutput(reportText(report, view())) : record(report));
  return report.overall !== 'fail';
}

/** The first nodes are diagnosed, all are listed. */
async function examineAll(command: Program): Promise<boolean> {
  const { api, connection, record, format, view } = sessionOf(command);
  const health = await api.check_admin_health.query({});
  // At once: where the database is away nothing else can be told.
  if (isForPeople(format)) await write(healthText(health.checks, view()));
  const { nodes, totalCount } = await notHealthy(api);
  const reports = new Map(
    await inTurns(
      nodes.slice(0, NODES_DIAGNOSED_MAX),
      AT_ONCE_MAX,
      async ({ id }) => [id, await diagnosed(api, id, connection)] as const,
    ),
  );
  const isWell = health.healthy && totalCount === 0;
  if (!isForPeople(format)) {
    await record({
      healthy: isWell,
      admin: health,
      nodes: nodes.map((node) => ({ node, diagnosis: reportOf(reports, node) })),
    });
    return isWell;
  }
  await writeOutput(nodesText(nodes, reports, view()));
  if (totalCount > reports.size)
    tell(`${reports.size} of ${totalCount} that are not healthy were diagnosed: edge doctor NODE does others`);
  if (isWell) tell('all nodes are healthy');
  return isWell;
}

/** What is wrong with each of these nodes. */
function nodesText(nodes: readonly Node[], reports: ReadonlyMap<string, Report | string>, view: View): string {
  const { isColoured, width } = view;
  const labels = labelsOf(nodes);
  return nodes
    .map(({ id, status, status_since: since, status_reason: reason, cluster_name: cluster }) => {
      const label = labels.get(id) ?? id;
      const shown = isColoured ? painted(status, STATUS_TONES[status]) : status;
      const told = plainText(`${label} (${id}) in ${cluster} since ${since}${reason === null ? '' : `: ${reason}`}`);
      const checks = checksOf(reports.get(id), { isColoured, width, onlyProblems: true });
      return `\n${shown}  ${wrapped(told, { width, indent: status.length + 2 })}\n${checks}`;
    })
    .join('');
}

function reportOf(reports: ReadonlyMap<string, Report | string>, { id }: Node): Report | null {
  const report = reports.get(id);
  return report === undefined || typeof report === 'string' ? null : report;
}

function checksOf(report: Report | string | undefined, options: Parameters<typeof checksText>[1]): string {
  return typeof report === 'string'
    ? `  ${wrapped(`it could not be diagnosed: ${plainText(report)}`, { width: options.width, indent: 2 })}\n`
    : checksText(report?.checks ?? [], options);
}

async function notHealthy(api: Api): Promise<{ readonly nodes: readonly Node[]; readonly totalCount: number }> {
  const lists = await Promise.all(
    NOT_HEALTHY.map((status) =>
      firstRows(NODES_LISTED_MAX, (page) => api.list_nodes.query({ status__in: [status], ...page })),
    ),
  );
  return {
    nodes: lists.flatMap(({ rows }) => rows).slice(0, NODES_LISTED_MAX),
    totalCount: lists.reduce((sum, list) => sum + list.totalCount, 0),
  };
}
