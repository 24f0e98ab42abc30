/** `edge key`. */
import type { Command as Program } from 'commander';
import { limitFlag, limitOption } from '../arguments.ts';
import type { Outputs } from '../client.ts';
import { durationMs } from '../duration.ts';
import { write } from '../output.ts';
import type { Columns } from '../table.ts';
import { sessionOf } from '../session.ts';

const COLUMNS: Columns<Outputs['list_enrollment_keys']['data'][number]> = [
  ['ID', 'id'],
  ['CLUSTER', 'cluster_name'],
  ['NAME', 'name'],
  ['USES LEFT', ({ uses_remaining: uses }) => uses ?? 'unlimited'],
  ['EXPIRES', 'expired_at'],
  ['LAST USED', 'last_used_at'],
];

interface CreateFlags {
  readonly name?: string;
  readonly uses?: number | 'unlimited';
  readonly expires?: string;
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
    .action(async (cluster: string, flags: CreateFlags, command: Program) => {
      const { api, record, format } = sessionOf(command);
      const created = await api.create_enrollment_key.mutate({
        cluster_name: cluster,
        ...(flags.name !== undefined && { name: flags.name }),
        ...(flags.uses !== undefined && { uses_remaining: flags.uses === 'unlimited' ? null : flags.uses }),
        ...(flags.expires !== undefined && {
          expired_at: new Date(Date.now() + durationMs(flags.expires, '--expires')).toISOString(),
        }),
      });
      await (format === 'table' ? write(`${created.key}\n`) : record(created));
    });

  key
    .command('ls')
    .description('list keys')
    .addOption(limitOption())
    .action(async (flags: { readonly limit: number }, command: Program) => {
      const { api, list } = sessionOf(command);
      await list(COLUMNS, flags.limit, (page) => api.list_enrollment_keys.query(page));
    });

  key
    .command('get <id>')
    .description('show a key, itself included')
    .action(async (id: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      await record(await api.get_enrollment_key.query({ id }));
    });

  key
    .command('rm <ids...>')
    .description('remove keys')
    .action(async (ids: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const id of ids) await api.delete_enrollment_key.mutate({ id });
    });
}
