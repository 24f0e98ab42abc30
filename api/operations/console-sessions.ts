/** Sessions of the console: who is signed in. They begin at its sign-in alone (api/console/routes.ts). */
import { z } from 'zod';
import type { Filter, Sort } from '../../actors/filters.ts';
import { ok, refuse } from '../../actors/refusal.ts';
import { ConsoleSessionResource } from '../../actors/resources/console-session.ts';
import { Uuid } from '../../transport/protocol/ids.ts';
import { inputOf } from '../inputs/list-input.ts';
import { operation } from '../operation.ts';
import { NOT_FOUND } from '../reading.ts';

export const list_console_sessions = operation({
  name: 'list_console_sessions',
  kind: 'query',
  summary: 'List the sessions of the console: who is signed in, from where, and until when.',
  rest: { method: 'GET', path: '/console_sessions', status: 200 },
  list: true,
  input: inputOf({
    fields: { inserted_at: { kind: 'time', ops: ['gte', 'lte'] } },
    sortable: ['inserted_at', 'last_used_at'],
  }),
  output: ConsoleSessionResource,
  handle: async ({ filters, sort: [sort = NEWEST_FIRST], page, pageSize }, { ports }) => {
    // 1,000 there are at most (SESSIONS_MAX)
    const all = (await ports.consoleSessions.list()).filter((one) => filters.every((filter) => passes(one, filter)));
    const sorted = all.toSorted(orderOf(sort));
    return ok({ rows: sorted.slice((page - 1) * pageSize, page * pageSize), totalCount: sorted.length });
  },
});

export const delete_console_session = operation({
  name: 'delete_console_session',
  kind: 'mutation',
  summary: 'End a session of the console. Its pages are cut within a second, at every admin.',
  rest: { method: 'DELETE', path: '/console_sessions/:id', status: 204 },
  input: z.strictObject({ id: Uuid }),
  output: z.null(),
  handle: async ({ id }, { ports }) =>
    (await ports.consoleSessions.end(id)) ? ok(null) : refuse('not_found', NOT_FOUND),
});

const NEWEST_FIRST: Sort = { field: 'inserted_at', descending: true };

function passes({ inserted_at: at }: ConsoleSessionResource, { op, value }: Filter): boolean {
  const atMs = Date.parse(at);
  return op === 'gte' ? atMs >= Number(value) : atMs <= Number(value);
}

function orderOf({ field, descending }: Sort) {
  const timeOf = (one: ConsoleSessionResource): string =>
    field === 'last_used_at' ? one.last_used_at : one.inserted_at;
  return (one: ConsoleSessionResource, other: ConsoleSessionResource): number => {
    const order = timeOf(one).localeCompare(timeOf(other)) || one.id.localeCompare(other.id);
    return descending ? -order : order;
  };
}
