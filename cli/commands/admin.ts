/** `edge admin`. */
import type { Command as Program } from 'commander';
import { ADMIN_STATUSES, ADMIN_TABLE, OWNED_TABLE, ofAdmin, type PeerAdmin } from '../names/admins.ts';
import { wordsOf } from '../arguments.ts';
import { drained } from '../draining.ts';
import { durationMs } from '../duration.ts';
import { addListCommand } from '../lists.ts';
import { tell, write } from '../output/output.ts';
import { objectionIn, Problem } from '../problem.ts';
import { sessionOf, type Session } from '../service/session.ts';
import { isForPeople } from '../table/format.ts';
import { recordText, rowsText } from '../table/text.ts';

interface LsFlags {
  readonly status?: readonly PeerAdmin['status'][];
}

interface DrainFlags {
  readonly wait?: boolean;
  readonly timeout?: string;
}

const HELP = `
Examples:
  edge admin drain admin-2 --wait && ssh admin-2 reboot     nobody is without service meanwhile
  edge admin resume admin-2                                 it takes clusters again, also where it is not back yet

Exit status: 0 it drains, with --wait: it owns nothing any more, and others do its tasks, or it keeps these for 30 s, which is told; 1 it could not be drained, or the time was over; 2, 3, 4 as of edge.`;

/** The admins of the service: list, look at, drain. */
export function addAdminCommands(program: Program): void {
  const admin = program
    .command('admin')
    .description(
      'the admins of the service: who owns what, and maintenance (the program that an admin is: edge-admin)',
    );

  addListCommand<PeerAdmin, LsFlags>(admin, {
    description: 'list admins, what they own, and whether the one that answers gets to them',
    table: ADMIN_TABLE,
    read:
      async ({ api }, { status }) =>
      (page) =>
        api.list_admins.query({ ...page, ...(status !== undefined && { status__in: status }) }),
  }).option('-s, --status <statuses>', `only these: ${ADMIN_STATUSES.join(', ')}`, wordsOf('--status', ADMIN_STATUSES));

  admin
    .command('show <admin>')
    .alias('get')
    .description('show an admin and the clusters that it owns')
    .action(async (name: string, _flags: object, command: Program) => {
      const session = sessionOf(command);
      const { api } = session;
      await show(session, await ofAdmin(api, name, () => api.get_peer_admin.query({ name })));
    });

  admin
    .command('drain <admin>')
    .description('have an admin hand its clusters to others and take none, also after a restart, until it is resumed')
    .option('--wait', 'until it owns nothing any more, and others do its tasks')
    .option('--timeout <duration>', 'with --wait: give up after this time, such as 5m')
    .addHelpText('after', HELP)
    .action(drain);

  admin
    .command('resume <admin>')
    .description('let an admin take clusters again')
    .action(async (name: string, _flags: object, command: Program) => {
      const session = sessionOf(command);
      const { api } = session;
      const resumed = await ofAdmin(api, name, () => api.resume_admin.mutate({ name }));
      if (!isForPeople(session.format)) return session.record(resumed);
      return tell(`${resumed.name} takes clusters again${whenBack(resumed)}`);
    });
}

async function drain(name: string, flags: DrainFlags, command: Program): Promise<void> {
  const waitMs = flags.timeout === undefined ? Number.POSITIVE_INFINITY : durationMs(flags.timeout, '--timeout');
  const session = sessionOf(command);
  const { api } = session;
  const draining = await ofAdmin(api, name, () => drainedOrNot(name, () => api.drain_admin.mutate({ name })));
  const last = flags.wait === true ? await drained(session, draining, waitMs) : draining;
  if (!isForPeople(session.format)) return session.record(last);
  const { cluster_count: clusters, node_count: nodes } = last;
  return tell(
    clusters === 0
      ? `${last.name} owns nothing and takes no clusters${whenBack(last)} until edge admin resume ${last.name}`
      : `${last.name} hands over ${clusters} ${clusters === 1 ? 'cluster' : 'clusters'} with ${nodes} ${nodes === 1 ? 'node' : 'nodes'}, and takes none until edge admin resume ${last.name}`,
  );
}

/** What the service has against it is told with the name. */
async function drainedOrNot(name: string, ask: () => Promise<PeerAdmin>): Promise<PeerAdmin> {
  try {
    return await ask();
  } catch (error) {
    const objection = objectionIn(error);
    if (objection === null) throw error;
    throw new Problem(`${name} cannot be drained: ${objection.message}`, objection.status);
  }
}

/** One that is not there is told so. */
function whenBack({ status }: PeerAdmin): string {
  return status === 'silent' || status === 'gone' ? ` when it is back (it is ${status})` : '';
}

async function show(session: Session, { clusters = [], link, ...admin }: PeerAdmin): Promise<void> {
  const { format, view } = session;
  if (!isForPeople(format)) return session.record({ ...admin, link, clusters });
  const fields = {
    ...admin,
    ...(link !== null && { link: link.state, link_since: link.since, link_latency_ms: link.latency_ms }),
    ...(link?.reason != null && { link_reason: link.reason }),
  };
  const owned = clusters.length === 0 ? '' : `\n${rowsText(clusters, OWNED_TABLE, view())}`;
  const hidden = admin.cluster_count - clusters.length;
  return write(`${recordText(fields, format)}${owned}${hidden > 0 ? `and ${hidden} more\n` : ''}`);
}
