/** `edge update`. */
import type { Command as Program } from 'commander';
import { positiveInteger, wordsOf } from '../arguments.ts';
import type { Outputs } from '../service/client.ts';
import { durationMs } from '../duration.ts';
import { existing, idOf } from '../names/id-names.ts';
import { addListCommand, type ListFlags } from '../lists.ts';
import { countOfNodes } from '../names/node-names.ts';
import { tell } from '../output/output.ts';
import { EXIT, isFailedCall, Problem } from '../problem.ts';
import { sessionOf, type Session } from '../service/session.ts';
import type { Table, Tone } from '../table/columns.ts';
import { isForPeople } from '../table/format.ts';
import { addPlaceOptions, targetingOf, type Places } from '../names/targeting.ts';
import { ending } from '../until-interrupted.ts';
import { endText, followUpdate, updateText, type Update } from '../updates.ts';

type Result = Outputs['list_self_update_results']['data'][number];

/** How a request may stand. */
const REQUEST_STATUSES = ['pending', 'processing', 'completed'] as const;

/** What may become of a node. */
const STATUSES = ['waiting', 'triggered', 'failed', 'skipped', 'updated', 'rolled_back'] as const;

/** Longest `--health-timeout`, in ms. Source: docs/updates.md. */
const HEALTH_TIMEOUT_MS_MAX = 86_400_000;

type Request = Outputs['list_self_update_requests']['data'][number];

const REQUESTS: Table<Request> = {
  id: ({ id }) => id,
  columns: [
    ['ID', 'id', { id: true }],
    ['STARTED', 'inserted_at', { age: true, sorts: 'inserted_at' }],
    ['STATUS', 'status', { sorts: 'status' }],
    ['TOTAL', ({ summary }) => summary?.total ?? '', { drop: 1 }],
    ['TRIGGERED', ({ summary }) => summary?.triggered ?? '', { drop: 3 }],
    [
      'FAILED',
      ({ summary }) => summary?.failed ?? '',
      { drop: 2, tone: ({ summary }) => ((summary?.failed ?? 0) > 0 ? 'bad' : null) },
    ],
    ['BATCH', ({ batch_size: size }) => size ?? 'all', { drop: 4 }],
  ],
};

const RESULTS: Table<Result> = {
  id: ({ node_id: node }) => node,
  columns: [
    ['NODE', 'node_id', { node: true, sorts: 'node_id' }],
    ['WAVE', ({ wave }) => wave ?? '', { sorts: 'wave', drop: 4 }],
    ['STATUS', 'status', { sorts: 'status', tone: ({ status }) => toneOf(status) }],
    ['FROM', 'from_version', { drop: 3 }],
    ['TO', 'to_version', { drop: 2 }],
    ['TRIGGERED', 'triggered_at', { age: true, drop: 1 }],
    ['ERROR', 'error', { cut: 24 }],
  ],
};

function toneOf(status: Result['status']): Tone | null {
  if (status === 'updated') return 'good';
  return status === 'failed' || status === 'rolled_back' ? 'bad' : null;
}

const HELP = `
Examples:
  edge update create -c demo --wait
  edge update create -l env=prod --batch 10 --max-failures 2 --health-timeout 2m --wait
  edge update results 0193a1c2                what became of each node
  edge update results 0193a1c2 --status failed,rolled_back

Exit status of --wait and watch: 0 all went well, 6 some nodes failed or went back, 130 left by Ctrl-C.`;

interface CreateFlags extends Places {
  readonly batch?: number;
  readonly maxFailures?: number;
  readonly healthTimeout?: string;
  readonly wait?: boolean;
}

/** Self-updates: tell nodes, list, look at, watch, results, remove. */
export function addUpdateCommands(program: Program): void {
  const update = program
    .command('update')
    .description('self-updates: nodes that are told to fetch the newest stable agent')
    .addHelpText('after', HELP);

  addPlaceOptions(
    update
      .command('create')
      .description('tell healthy nodes that take part in self-updates to fetch the newest stable agent'),
  )
    .option('--batch <n>', 'at most so many nodes at once; all when left out', positiveInteger)
    .option('--max-failures <n>', 'tell no more nodes once so many failed or went back', positiveInteger)
    .option('--health-timeout <duration>', 'with --batch: a node must be healthy again after this time, such as 5m')
    .option('--wait', 'wait until it is completed')
    .action(create);

  addListCommand<Request, { readonly status?: readonly Request['status'][] } & ListFlags>(update, {
    description: 'list self-update requests, newest first',
    table: REQUESTS,
    read:
      async ({ api }, { status }) =>
      (page) =>
        api.list_self_update_requests.query({ ...page, ...(status && { status__in: status }) }),
  }).option(
    '-s, --status <statuses>',
    `only these: ${REQUEST_STATUSES.join(', ')}`,
    wordsOf('--status', REQUEST_STATUSES),
  );

  update
    .command('get <id>')
    .alias('show')
    .description('show a self-update request and how far it is')
    .action(async (given: string, _flags: object, command: Program) => {
      const session = sessionOf(command);
      await session.record(shown(session, await updateOf(session, given)));
    });

  update
    .command('watch <id>')
    .description('follow a self-update request until it is completed')
    .action(async (given: string, _flags: object, command: Program) => {
      const session = sessionOf(command);
      await follow(session, await updateOf(session, given));
    });

  addResultsCommand(update);

  update
    .command('rm <ids...>')
    .description('remove completed self-update requests with their results')
    .action(async (given: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const one of given) {
        const id = await idOf(api, 'update', one);
        await existing('update', one, api.delete_self_update_request.mutate({ id }));
      }
    });
}

function addResultsCommand(update: Program): void {
  addListCommand<Result, { readonly status?: readonly Result['status'][] }>(update, {
    words: 'results <id>',
    description: 'list the nodes of a self-update request, with what became of each',
    table: RESULTS,
    read: async ({ api }, { status }, [given = '']) => {
      const id = await idOf(api, 'update', given);
      return (page) =>
        existing(
          'update',
          given,
          api.list_self_update_results.query({ ...page, id, ...(status !== undefined && { status__in: status }) }),
        );
    },
  }).option('-s, --status <statuses>', `only these: ${STATUSES.join(', ')}`, wordsOf('--status', STATUSES));
}

async function create(flags: CreateFlags, command: Program): Promise<void> {
  const session = sessionOf(command);
  const { batch, maxFailures } = flags;
  const healthTimeout = healthTimeoutOf(flags);
  const created = await session.api.create_self_update_request.mutate({
    targeting: await targetingOf(session.api, flags),
    ...(batch !== undefined && { batch_size: batch }),
    ...(maxFailures !== undefined && { max_failures: maxFailures }),
    ...(healthTimeout !== undefined && { health_timeout: healthTimeout }),
  });
  if (flags.wait === true) return follow(session, created);
  const found = await session.api.get_self_update_request.query({ id: created.id }).catch((error: unknown) => {
    if (isFailedCall(error)) return null; // it is created, and whoever created it has to know its id
    throw error;
  });
  await session.record(shown(session, found ?? created));
  tell(
    found === null ? `edge update watch ${created.id} says how far it is` : whoTakesPart(totalOf(found), created.id),
  );
}

function healthTimeoutOf({ healthTimeout, batch }: CreateFlags): number | undefined {
  if (healthTimeout === undefined) return undefined;
  if (batch === undefined) throw new Problem('--health-timeout goes with --batch N', EXIT.usage);
  const ms = durationMs(healthTimeout, '--health-timeout');
  if (ms > HEALTH_TIMEOUT_MS_MAX || ms < 1_000)
    throw new Problem(`--health-timeout is "${healthTimeout}": it should be from 1s to 24h`, EXIT.usage);
  return Math.round(ms / 1_000);
}

async function updateOf({ api }: Session, given: string): Promise<Update> {
  const id = await idOf(api, 'update', given);
  return existing('update', given, api.get_self_update_request.query({ id }));
}

/** As people see it: how far it is in one line. */
function shown({ format }: Session, update: Update): object {
  if (!isForPeople(format)) return update;
  const { progress: _p, waves: _w, next: _n, summary: _s, targeting: _t, ...rest } = update;
  return { ...rest, progress: updateText(update, Date.now() - Date.parse(update.inserted_at)) };
}

function totalOf({ progress }: Update): number {
  return Object.values(progress ?? {}).reduce((sum, count) => sum + count, 0);
}

async function follow(session: Session, update: Update): Promise<void> {
  const startedMs = Date.parse(update.inserted_at);
  const last = await followUpdate(session.api, update, ending().signal);
  if (last === null) {
    process.exitCode = EXIT.interrupted;
    tell(`it goes on: edge update watch ${update.id} follows it again`);
    return;
  }
  if (!isForPeople(session.format)) await session.record(last);
  else tell(endText(last, Date.parse(last.updated_at) - startedMs));
  const { failed = 0, rolled_back: back = 0 } = last.progress ?? {};
  process.exitCode = failed + back > 0 ? EXIT.someFailed : EXIT.ok;
}

function whoTakesPart(nodes: number, request: string): string {
  return nodes === 0
    ? 'no node takes part: only healthy ones do whose agents have AGENT_SELF_UPDATE_ENABLED=true'
    : `${countOfNodes(nodes)} take part: edge update watch ${request} says how far it is`;
}
