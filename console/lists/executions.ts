/** Where commands and executions are that other pages lead to: lists, by the ends of their addresses, and one. Pure. */
import type { ExecutionResource } from '../../actors/resources/command.ts';
import { addressOf } from '../routes.ts';
import { listSearchOf } from './query.ts';

/** What failed within this time is news, in ms. */
const RECENT_MS = 3_600_000;

/** Values of the filter by status: those that are not over. */
export const OPEN_STATUSES = 'pending,sent';

/** Commands that wait or run somewhere. */
export const COMMANDS_IN_FLIGHT = listSearchOf({ filters: { has_open: 'true' }, sort: '', page: 1 });

/** Those that wait or run. */
export const IN_FLIGHT = listSearchOf({ filters: { status__in: OPEN_STATUSES }, sort: '', page: 1 });

/** Those that failed in the hour before this instant, the latest first; null: whenever they failed. */
export function failedSince(asOf: string | null): string {
  const since = asOf === null ? {} : { completed_at__gte: new Date(Date.parse(asOf) - RECENT_MS).toISOString() };
  const filters = { status__in: 'completed', exit_code__gte: '1', ...since };
  return listSearchOf({ filters, sort: '-completed_at', page: 1 });
}

/** The page on which what one node said is seen: that of its command, which shows this node before others. */
export function outputAddress({ id, command_id: command }: Pick<ExecutionResource, 'id' | 'command_id'>): string {
  return addressOf('command', { id: command, search: `?execution=${encodeURIComponent(id)}` });
}
