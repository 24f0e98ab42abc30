/** `edge top`. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Command as Program } from 'commander';
import { positiveInteger, words } from '../arguments.ts';
import type { Node, Outputs } from '../service/client.ts';
import { ending } from '../until-interrupted.ts';
import { inTurns } from '../in-turns.ts';
import { inOrder } from '../output/listing.ts';
import { labelsOf } from '../names/node-names.ts';
import { tell, write } from '../output/output.ts';
import { firstRows } from '../service/pages.ts';
import { plainText } from '../output/plain-text.ts';
import { EXIT, isRefusal, problemOf, type AskedService } from '../problem.ts';
import { Screen } from '../output/screen.ts';
import { sessionOf, type Session } from '../service/session.ts';
import { sortNameOf, type Table, type Tone } from '../table/columns.ts';
import { isForPeople } from '../table/format.ts';
import { durationText } from '../table/ages.ts';
import { rowsText } from '../table/text.ts';

/** Nodes that are asked when nothing is said: each is a request to its machine. */
const NODES_DEFAULT = 50;

/** Nodes that are asked at the same time. */
const AT_ONCE_MAX = 8;

/** Between two snapshots, in ms. */
const REDRAW_MS = 5_000;

/** Shares from which on a machine is worth a look, and short of room, in percent. */
const WARN_PERCENT = 80;
const BAD_PERCENT = 95;

type Metrics = Outputs['get_node_metrics'];

/** What a machine is busy with; null: it was not told. */
interface Load {
  readonly id: string;
  readonly name: string;
  readonly cluster: string;
  readonly load: number | null;
  readonly cores: number | null;
  /** Load of the last minute, in percent of the cores. */
  readonly busy: number | null;
  readonly memory: number | null;
  readonly disk: number | null;
  readonly upMs: number | null;
  readonly problem: string | null;
}

const TABLE: Table<Load> = {
  id: ({ id }) => id,
  sortedBy: '-busy',
  columns: [
    ['NAME', 'name', { cut: 12 }],
    ['CLUSTER', 'cluster', { cut: 8, drop: 3 }],
    ['BUSY', 'busy', { unit: '%', tone: ({ busy }) => toneOf(busy) }],
    ['LOAD', 'load', { drop: 2 }],
    ['CORES', 'cores', { drop: 4 }],
    ['MEMORY', 'memory', { unit: '%', tone: ({ memory }) => toneOf(memory) }],
    ['DISK', 'disk', { unit: '%', tone: ({ disk }) => toneOf(disk) }],
    ['UP', ({ upMs }) => (upMs === null ? null : durationText(upMs)), { drop: 1 }],
    ['PROBLEM', ({ problem }) => problem ?? '', { cut: 12 }],
  ],
};

interface TopFlags {
  readonly cluster?: readonly string[];
  readonly labels?: string;
  readonly limit: number;
  readonly sort?: string;
  readonly once?: boolean;
}

/** Load of machines, live. */
export function addTopCommand(program: Program): void {
  program
    .command('top')
    .description('show what machines are busy with, live on a terminal; takes METRICS_KEY or MASTER_KEY beside the API')
    .option('-c, --cluster <names>', 'only of these clusters (with * as wildcard)', words)
    .option('-l, --labels <selector>', "only with these labels, such as 'env=prod,!gpu'")
    .option('--limit <n>', 'most nodes to ask', positiveInteger, NODES_DEFAULT)
    .option('--sort <column>', `one of ${TABLE.columns.map(sortNameOf).join(', ')}; - before it for descending`)
    .option('--once', 'one snapshot, also on a terminal')
    .addHelpText(
      'after',
      '\nBUSY is the load of the last minute in percent of the cores; MEMORY and DISK are what is used, in percent.',
    )
    .action(async (flags: TopFlags, command: Program) => {
      const session = sessionOf(command);
      const isLive = process.stdout.isTTY && isForPeople(session.format) && flags.once !== true;
      if (isLive) return drawAgain(session, flags);
      const asked = await loadsOf(session, flags);
      await write(snapshotOf(asked, session, flags));
      const missing = missingText(asked);
      if (missing !== null) tell(missing);
      return undefined;
    });
}

async function drawAgain(session: Session, flags: TopFlags): Promise<void> {
  const screen = new Screen(process.stdout, session.view());
  const { signal } = ending();
  let loads: Loads | null = null;
  let problem: string | null = null;
  try {
    while (!signal.aborted) {
      try {
        loads = await loadsOf(session, flags, { signal });
        problem = null;
      } catch (error) {
        if (signal.aborted) break;
        if (loads === null) throw error;
        problem = plainText(problemOf(error, session.connection).message);
      }
      const now = new Date().toTimeString().slice(0, 8);
      const missing = missingText(loads);
      screen.draw(
        snapshotOf(loads, session, flags),
        [now, problem ?? 'Ctrl-C ends', ...(missing === null ? [] : [missing])].join('; '),
      );
      await pause(REDRAW_MS, undefined, { signal }).catch(() => {});
    }
  } finally {
    screen.end();
  }
}

/** What was measured, and of how many nodes that were meant. */
interface Loads {
  readonly loads: readonly Load[];
  readonly totalCount: number;
}

/** That not all were asked; null: they were. */
function missingText({ loads, totalCount }: Loads): string | null {
  return totalCount > loads.length ? `${loads.length} of ${totalCount} nodes, the newest: --limit N asks more` : null;
}

function snapshotOf({ loads }: Loads, session: Session, { sort }: TopFlags): string {
  return rowsText(
    inOrder(loads, TABLE, sort, (id) => id),
    TABLE,
    session.view(),
  );
}

/** Rejects when the signal aborts: whoever wants to end waits for no machine. */
async function loadsOf(
  { api, connection }: Session,
  { cluster, labels, limit }: TopFlags,
  options: { readonly signal?: AbortSignal } = {},
): Promise<Loads> {
  const { rows, totalCount } = await firstRows(limit, (page) =>
    api.list_nodes.query(
      {
        ...(cluster && { cluster_name__in: cluster }),
        ...(labels !== undefined && { labels }),
        ...page,
      },
      options,
    ),
  );
  const names = labelsOf(rows);
  const loads = await inTurns(rows, AT_ONCE_MAX, async (node) =>
    loadOf(() => api.get_node_metrics.query({ node_id: node.id }, options), node, {
      name: names.get(node.id) ?? node.name,
      asked: connection,
    }),
  );
  return { loads, totalCount };
}

async function loadOf(
  ask: () => Promise<Metrics>,
  node: Node,
  { name, asked }: { readonly name: string; readonly asked: AskedService },
): Promise<Load> {
  const about = { id: node.id, name, cluster: node.cluster_name };
  if (node.status === 'unreachable') return { ...about, ...UNKNOWN, problem: 'unreachable' };
  try {
    return { ...about, ...measured(await ask()) };
  } catch (error) {
    const problem = problemOf(error, asked);
    if (!isRefusal(error) || problem.status === EXIT.auth) throw error;
    return { ...about, ...UNKNOWN, problem: problem.message };
  }
}

const UNKNOWN = { load: null, cores: null, busy: null, memory: null, disk: null, upMs: null } as const;

function measured({ host }: Metrics): Omit<Load, 'id' | 'name' | 'cluster'> {
  if (!host.available) return { ...UNKNOWN, problem: 'its exporter does not answer' };
  const { load_1m: load, cores } = host.cpu;
  return {
    load,
    cores,
    busy: load === null || cores === null || cores === 0 ? null : Math.round((100 * load) / cores),
    memory: rounded(host.memory.usage_percent),
    disk: rounded(host.disk.usage_percent),
    upMs: host.uptime.seconds === null ? null : host.uptime.seconds * 1_000,
    problem: null,
  };
}

function rounded(percent: number | null): number | null {
  return percent === null ? null : Math.round(percent);
}

function toneOf(percent: number | null): Tone | null {
  if (percent === null || percent < WARN_PERCENT) return null;
  return percent < BAD_PERCENT ? 'warn' : 'bad';
}
