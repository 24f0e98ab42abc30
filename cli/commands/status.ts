/** `edge status`. */
import type { Command as Program } from 'commander';
import type { Api, Node, Outputs } from '../service/client.ts';
import { painted } from '../output/colours.ts';
import { NODE_STATUSES, NODE_TABLE, STATUS_TONES } from '../output/node-table.ts';
import { writeOutput } from '../output/output.ts';
import { firstRows } from '../service/pages.ts';
import { sessionOf, type Session } from '../service/session.ts';
import { isForPeople } from '../table/format.ts';
import { rowsText } from '../table/text.ts';
import { inOrder } from '../output/listing.ts';
import { plainText } from '../output/plain-text.ts';

/** Nodes that are not healthy and named; more are counted. */
const NAMED_NODES_MAX = 10;

/** Clusters that are named, the largest first; more are counted. */
const NAMED_CLUSTERS_MAX = 5;

/** Commands of so long ago are still counted, in ms. */
const RECENT_MS = 3_600_000;

/** Commands, newest first, that are looked at for how they went; of more, that is said. */
const COMMANDS_LOOKED_AT_MAX = 1_000;

/** The fleet at a glance. */
interface FleetStatus {
  readonly url: string;
  readonly admin: Pick<Outputs['get_admin'], 'name' | 'version'>;
  readonly health: Outputs['check_admin_health'];
  readonly admins: number;
  readonly degraded: boolean;
  readonly nodes: Readonly<Record<Node['status'], number>> & { readonly total: number; readonly outdated: number };
  readonly clusters: { readonly total: number; readonly largest: readonly { name: string; node_count: number }[] };
  readonly commands: {
    readonly last_hour: number;
    /** Of these the newest, which the following are of. */
    readonly looked_at: number;
    readonly open: number;
    readonly failed: number;
  };
  readonly not_healthy: readonly Node[];
}

/** How the whole service and its nodes are, on one screen. */
export function addStatusCommand(program: Program): void {
  program
    .command('status')
    .description('show the fleet at a glance: admins, nodes, clusters, commands, and what is not healthy')
    .action(async (_flags: object, command: Program) => {
      const session = sessionOf(command);
      const status = await statusOf(session);
      await (isForPeople(session.format) ? writeOutput(statusText(status, session)) : session.record(status));
    });
}

async function statusOf({ api, connection }: Session): Promise<FleetStatus> {
  const [admin, health, group, clusters, commands, ...counts] = await Promise.all([
    api.get_admin.query({}),
    api.check_admin_health.query({}),
    api.get_my_admin_cluster.query({}),
    api.list_clusters.query({ sort: '-node_count', page_size: NAMED_CLUSTERS_MAX }),
    recentCommands(api),
    ...NODE_STATUSES.map(
      async (status) => (await api.list_nodes.query({ status__in: [status], page_size: 1 })).pagination.total_count,
    ),
  ]);
  const [healthy = 0, unhealthy = 0, unreachable = 0] = counts;
  const total = healthy + unhealthy + unreachable;
  const sameVersion = await api.list_nodes.query({ version: admin.version, page_size: 1 });
  const { rows } = await firstRows(NAMED_NODES_MAX, (page) =>
    api.list_nodes.query({ status__in: ['unreachable', 'unhealthy'], ...page, sort: 'status' }),
  );
  return {
    url: connection.url,
    admin: { name: admin.name, version: admin.version },
    health,
    admins: group.total_admins,
    degraded: group.degraded,
    nodes: {
      healthy,
      unhealthy,
      unreachable,
      total,
      outdated: Math.max(0, total - sameVersion.pagination.total_count),
    },
    clusters: {
      total: clusters.pagination.total_count,
      largest: clusters.data.map(({ name, node_count }) => ({ name, node_count })),
    },
    commands,
    not_healthy: rows,
  };
}

async function recentCommands(api: Api): Promise<FleetStatus['commands']> {
  const since = new Date(Date.now() - RECENT_MS).toISOString();
  const { rows, totalCount } = await firstRows(COMMANDS_LOOKED_AT_MAX, (page) =>
    api.list_commands.query({ inserted_at__gte: since, ...page }),
  );
  return {
    last_hour: totalCount,
    looked_at: rows.length,
    open: rows.filter(({ summary }) => summary.pending + summary.sent > 0).length,
    failed: rows.filter(({ summary }) => summary.failed > 0).length,
  };
}

function statusText(status: FleetStatus, { view }: Session): string {
  const { isColoured, nowMs, width } = view();
  const tone = (text: string, state: Node['status']): string =>
    isColoured ? painted(text, STATUS_TONES[state]) : text;
  const { nodes, health, admin, clusters, commands } = status;
  const failing = health.checks.filter(({ healthy }) => !healthy).map(({ name }) => plainText(name));
  const lines: readonly (readonly [name: string, text: string])[] = [
    [
      'Admin',
      `${plainText(admin.name)} (${plainText(admin.version)}) at ${status.url}, ${
        failing.length === 0
          ? tone('healthy', 'healthy')
          : `${tone('not healthy', 'unreachable')}: ${failing.join(', ')} (edge health)`
      }${status.admins > 1 ? `, one of ${status.admins}` : ''}${status.degraded ? '; the admins do not have room for everything' : ''}`,
    ],
    [
      'Nodes',
      `${nodes.total}${nodes.total === 0 ? '' : ': '}${NODE_STATUSES.filter((state) => nodes[state] > 0)
        .map((state) => tone(`${nodes[state]} ${state}`, state))
        .join(', ')}${nodes.outdated > 0 ? `; ${nodes.outdated} of another version than this admin` : ''}`,
    ],
    [
      'Clusters',
      `${clusters.total}${clusters.total === 0 ? '' : ': '}${clusters.largest.map(({ name, node_count: count }) => `${plainText(name)} ${count}`).join(', ')}${clusters.total > clusters.largest.length ? ', …' : ''}`,
    ],
    [
      'Commands',
      `${commands.last_hour} in the last hour, ${commands.open} of ${
        commands.looked_at < commands.last_hour ? `the newest ${commands.looked_at}` : 'them'
      } open, ${commands.failed} with failures`,
    ],
  ];
  const head = lines.map(([name, text]) => `${name.padEnd(8)}  ${text}\n`).join('');
  if (status.not_healthy.length === 0) return head;
  const names = NODE_TABLE.names?.(status.not_healthy) ?? ((id: string) => id);
  const more = nodes.unhealthy + nodes.unreachable - status.not_healthy.length;
  return `${head}\n${rowsText(inOrder(status.not_healthy, NODE_TABLE, undefined, names), NODE_TABLE, {
    format: 'table',
    width,
    isColoured,
    nowMs,
    nodeName: names,
  })}${more > 0 ? `and ${more} more: edge node ls -s unhealthy,unreachable\n` : ''}`;
}
