/** `edge key`. */
import type { Command as Program } from 'commander';
import { limitFlag, wordOf, words } from '../arguments.ts';
import type { Outputs } from '../service/client.ts';
import { ofCluster } from '../names/clusters.ts';
import { durationMs } from '../duration.ts';
import { bareUrls, givenLabels } from '../enrollment-keys.ts';
import { existing, idOf } from '../names/id-names.ts';
import { addListCommand, type ListFlags } from '../lists.ts';
import { labelsText } from '../output/node-table.ts';
import { tell, write } from '../output/output.ts';
import { plainText } from '../output/plain-text.ts';
import type { Table } from '../table/columns.ts';
import { isForPeople } from '../table/format.ts';
import { sessionOf } from '../service/session.ts';

type Key = Outputs['list_enrollment_keys']['data'][number];

const TABLE: Table<Key> = {
  id: ({ id }) => id,
  columns: [
    ['ID', 'id', { id: true }],
    ['CLUSTER', 'cluster_name', { cut: 8, sorts: 'cluster_name' }],
    ['NAME', 'name', { cut: 8, sorts: 'name' }],
    ['USES LEFT', ({ uses_remaining: uses }) => uses ?? 'unlimited', { sorts: 'uses_remaining' }],
    ['CREATED', 'inserted_at', { age: true, drop: 2, sorts: 'inserted_at' }],
    ['EXPIRES', 'expired_at', { age: true, drop: 1, sorts: 'expired_at' }],
    ['LAST USED', 'last_used_at', { age: true, drop: 3, sorts: 'last_used_at' }],
    ['LABELS', ({ labels }) => labelsText(labels), { wide: true }],
  ],
};

/** How a key may stand. */
const STATES = ['never-used', 'spent', 'expired', 'unlimited'] as const;

const STATE_FILTERS = {
  'never-used': { is_never_used: true },
  spent: { is_spent: true },
  expired: { is_expired: true },
  unlimited: { is_unlimited: true },
} as const satisfies Record<(typeof STATES)[number], object>;

interface Filters {
  readonly name?: string;
  readonly cluster?: readonly string[];
  readonly state?: (typeof STATES)[number];
}

interface CreateFlags {
  readonly name?: string;
  readonly uses?: number | 'unlimited';
  readonly expires?: string;
  readonly labels?: string;
}

/** Enrolment keys: create, list, look at and remove. */
export function addKeyCommands(program: Program): void {
  const key = program.command('key').description('keys with which machines join a cluster');

  key
    .command('create <cluster>')
    .description('create a key; it alone is printed, for ENROLLMENT_KEY of edge-agent')
    .option('--name <name>', 'what it is for')
    .option('--uses <n>', 'how many machines it lets in: a number (default 1), or unlimited', limitFlag)
    .option('--expires <duration>', 'how long it is valid, such as 1h')
    .option('-l, --labels <labels>', 'labels of all machines that it lets in, such as env=prod,site=hall-3')
    .action(async (cluster: string, flags: CreateFlags, command: Program) => {
      const { api, record, format } = sessionOf(command);
      const wanted = {
        cluster_name: cluster,
        ...(flags.name !== undefined && { name: flags.name }),
        ...(flags.labels !== undefined && { labels: await givenLabels(flags.labels) }),
        ...(flags.uses !== undefined && { uses_remaining: flags.uses === 'unlimited' ? null : flags.uses }),
        ...(flags.expires !== undefined && {
          expired_at: new Date(Date.now() + durationMs(flags.expires, '--expires')).toISOString(),
        }),
      };
      const created = await ofCluster(cluster, () => api.create_enrollment_key.mutate(wanted));
      await (isForPeople(format) ? write(`${plainText(created.key)}\n`) : record(created));
      const urls = bareUrls(created.key);
      if (urls.length > 0)
        tell(
          `machines that join with this key look for ${urls.join(', ')}: where they do not know that name, set ADMIN_URLS of edge-admin and make another key`,
        );
    });

  addKeyList(key);

  key
    .command('get <id>')
    .alias('show')
    .description('show a key, itself included')
    .action(async (given: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      const id = await idOf(api, 'key', given);
      await record(await existing('key', given, api.get_enrollment_key.query({ id })));
    });

  key
    .command('rm <ids...>')
    .description('remove keys')
    .action(async (given: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const one of given) {
        const id = await idOf(api, 'key', one);
        await existing('key', one, api.delete_enrollment_key.mutate({ id }));
      }
    });
}

function addKeyList(key: Program): void {
  addListCommand<Key, Filters & ListFlags>(key, {
    description: 'list keys, newest first',
    table: TABLE,
    read: async ({ api }, { name, cluster, state }) => {
      const filters = {
        ...(name !== undefined && { name }),
        ...(cluster && { cluster_name__in: cluster }),
        ...(state && STATE_FILTERS[state]),
      };
      return (page) => api.list_enrollment_keys.query({ ...filters, ...page });
    },
  })
    .option('--name <pattern>', 'only those that are called so (with * as wildcard)')
    .option('-c, --cluster <names>', 'only of these clusters (with * as wildcard)', words)
    .option('-s, --state <state>', `only those that are ${STATES.join(', ')}`, wordOf('--state', STATES));
}
