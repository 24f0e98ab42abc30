/** What events say happened to a node, and how its status went. Pure. */
import type { Envelope, EventType } from '../../../actors/events.ts';
import type { NodeStatus } from '../../../actors/resources/node.ts';
import { STATUSES } from '../../fleet/query.ts';
import type { Pagination } from '../../lists/query.ts';
import { TEXTS } from '../../texts.ts';
import { NODE } from '../../texts/node.ts';

/** Types of logins by SSH, which are shown apart: somebody may try all day. */
export const LOGIN_TYPES = ['edge.ssh_username.verified'] as const satisfies readonly EventType[];

/** Types of what happens to a node itself. */
export const HISTORY_TYPES = [
  'edge.node.registered',
  'edge.node.reregistered',
  'edge.node.version_changed',
  'edge.node.status_changed',
  'edge.node.cluster_changed',
  'edge.node.update_triggered',
] as const satisfies readonly EventType[];

/**
 * Events of one kind that are counted, as the page asks every few seconds: a count of so many says that there may be
 * more.
 */
export const COUNTED_MAX = 1_000;

const T = NODE.history.happened;

/** Which events of how many a page of them shows. */
export function rowsOf({ page, page_size: size, total_count: total }: Omit<Pagination, 'total_pages'>): string {
  const rows = TEXTS.lists.rows((page - 1) * size + 1, Math.min(page * size, total), total);
  return total >= COUNTED_MAX ? NODE.orMore(rows) : rows;
}

/** One sentence of an event. What it says of versions and clusters is a machine's or an operator's own word. */
export function happened({ type, data }: { readonly type: string } & Pick<Envelope, 'data'>): string {
  switch (type) {
    case 'edge.node.registered':
      return T.registered;
    case 'edge.node.reregistered':
      return T.reregistered;
    case 'edge.node.version_changed':
      return T.version(textOf(data['previous_version']), textOf(data['version']));
    case 'edge.node.status_changed':
      return T.status(textOf(data['previous_status']), textOf(data['status']));
    case 'edge.node.cluster_changed':
      return T.cluster(textOf(data['previous_cluster_name']), textOf(data['cluster_name']));
    case 'edge.node.update_triggered':
      return T.update;
    case 'edge.ssh_username.verified':
      return loginOf(data);
    default:
      return type;
  }
}

function loginOf(data: Envelope['data']): string {
  const user = textOf(data['username']);
  if (data['result'] !== 'success') return T.refused(user);
  return T.login(user, data['auth_method'] === 'password' ? T.methods.password : T.methods.public_key);
}

/** A stretch of time in one status. */
export interface Stretch {
  readonly status: NodeStatus;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Changes of a status, the latest first. */
export interface Changes {
  readonly data: readonly Pick<Envelope, 'time' | 'data'>[];
  /** Whether there are no others: then what was before the oldest is known too. */
  readonly isWhole: boolean;
}

/** How the status went from `sinceMs` to `nowMs`, the oldest first. Several admins may tell the same change. */
export function stretchesOf(
  { data: changes, isWhole }: Changes,
  now: NodeStatus,
  sinceMs: number,
  nowMs: number,
): readonly Stretch[] {
  const stretches: Stretch[] = [];
  let status = now;
  let toMs = nowMs;
  for (const { time, data } of changes) {
    const fromMs = Math.min(Date.parse(time), toMs);
    add(stretches, { status, fromMs: Math.max(fromMs, sinceMs), toMs });
    if (fromMs <= sinceMs) return stretches.toReversed();
    status = statusOf(data['previous_status']) ?? status;
    toMs = fromMs;
  }
  if (isWhole) add(stretches, { status, fromMs: sinceMs, toMs });
  return stretches.toReversed();
}

function add(stretches: Stretch[], { status, fromMs, toMs }: Stretch): void {
  const last = stretches.at(-1);
  if (last?.status === status) stretches[stretches.length - 1] = { ...last, fromMs };
  else if (toMs > fromMs) stretches.push({ status, fromMs, toMs });
}

function statusOf(value: unknown): NodeStatus | undefined {
  return STATUSES.find((status) => status === value);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '?';
}
