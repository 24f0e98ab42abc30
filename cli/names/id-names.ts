/** Things other than nodes by their ids, or unique beginnings of these. */
import type { Api } from '../service/client.ts';
import { firstRows, type Listed, type PageQuery } from '../service/pages.ts';
import { EXIT, isNotFound, Problem } from '../problem.ts';
import { isUuid } from '../table/short-ids.ts';

/** What may be the beginning of an id. */
const PREFIX = /^[0-9a-f]{4}[0-9a-f-]{0,31}$/u;

/** Rows looked through for the beginning of an id, newest first. */
const SEARCHED_ROWS_MAX = 5_000;

/** Clocks of admins and of the database may differ by so much, in ms. Source: docs/health.md, five seconds are told. */
const CLOCKS_APART_MS = 60_000;

/** Hexadecimal digits of the time in a UUID of version 7, which counts ms. Source: RFC 9562, 5.7. */
const TIME_DIGITS = 12;

/** A page of what was made within a time. */
interface Created extends PageQuery {
  readonly inserted_at__gte?: string;
  readonly inserted_at__lte?: string;
}

interface Named {
  readonly noun: string;
  /** The command that shows all. */
  readonly shows: string;
  readonly list: (api: Api, query: Created) => Promise<Listed<{ readonly id: string }>>;
}

/** What is called by an id. */
const KINDS = {
  command: { noun: 'command', shows: 'edge command ls', list: (api, query) => api.list_commands.query(query) },
  key: { noun: 'enrolment key', shows: 'edge key ls', list: (api, query) => api.list_enrollment_keys.query(query) },
  recording: {
    noun: 'recording',
    shows: 'edge recording ls',
    list: (api, query) => api.list_ssh_recordings.query(query),
  },
  console: {
    noun: 'session of the console',
    shows: 'edge console-session ls',
    list: (api, query) => api.list_console_sessions.query(query),
  },
  webhook: { noun: 'webhook', shows: 'edge webhook ls', list: (api, query) => api.list_webhooks.query(query) },
  update: {
    noun: 'self-update request',
    shows: 'edge update ls',
    list: (api, query) => api.list_self_update_requests.query(query),
  },
  delivery: {
    noun: 'delivery',
    shows: 'edge webhook deliveries',
    list: (api, query) => api.list_webhook_deliveries.query(query),
  },
  alias: { noun: 'alias', shows: 'edge alias ls', list: (api, query) => api.list_aliases.query(query) },
  execution: {
    noun: 'execution',
    shows: 'edge execution ls',
    list: (api, query) => api.list_command_executions.query(query),
  },
  sshuser: {
    noun: 'SSH username',
    shows: 'edge sshuser ls',
    list: (api, query) => api.list_ssh_usernames.query(query),
  },
  sshkey: {
    noun: 'public key',
    shows: 'edge sshkey ls',
    list: (api, query) => api.list_ssh_public_keys.query(query),
  },
} as const satisfies Record<string, Named>;

/** Kinds of things that are called by ids. */
export type Kind = keyof typeof KINDS;

/** Whether something may be the beginning of an id. */
export function canBeginId(text: string): boolean {
  return PREFIX.test(text.trim().toLowerCase());
}

/**
 * The id that is meant: itself, or its unique beginning of 4 characters or more. Says what to do when it is neither.
 */
export async function idOf(api: Api, kind: Kind, given: string): Promise<string> {
  const text = given.trim().toLowerCase();
  if (isUuid(text)) return text;
  if (!PREFIX.test(text)) throw nothing(kind, given);
  const range = createdBetween(text);
  const near = range === null ? null : await beginning(api, kind, text, range);
  const { found, isWhole } = near !== null && near.found.length > 0 ? near : await beginning(api, kind, text, {});
  const [first, second] = found;
  if (second !== undefined)
    throw new Problem(
      `the ids of ${found.length} begin with "${given}": give more of it (${KINDS[kind].shows})`,
      EXIT.usage,
    );
  if (first !== undefined) return first;
  if (!isWhole)
    throw new Problem(
      `no ${KINDS[kind].noun} among the newest ${SEARCHED_ROWS_MAX} begins with "${given}": give the whole id`,
      EXIT.notFound,
    );
  throw nothing(kind, given);
}

/** What was asked for by an id; where there is no such thing any more, that is said of the kind. */
export async function existing<T>(kind: Kind, given: string, asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw isNotFound(error) ? nothing(kind, given) : error;
  }
}

/** Those among the rows whose ids begin so, and whether these are all rows that there are. */
async function beginning(
  api: Api,
  kind: Kind,
  text: string,
  range: Omit<Created, keyof PageQuery>,
): Promise<{ readonly found: readonly string[]; readonly isWhole: boolean }> {
  const { list }: Named = KINDS[kind];
  const { rows, totalCount } = await firstRows(SEARCHED_ROWS_MAX, (page) => list(api, { ...page, ...range }));
  return {
    found: rows.flatMap(({ id }) => (id.startsWith(text) ? [id] : [])),
    isWhole: totalCount <= SEARCHED_ROWS_MAX,
  };
}

/**
 * When that was made whose id begins so, as the id of version 7 says; null for too little of one. A year that is none
 * of ours is no time: ids of other versions begin anyhow.
 */
function createdBetween(text: string): Omit<Created, keyof PageQuery> | null {
  const digits = text.replaceAll('-', '').slice(0, TIME_DIGITS);
  if (digits.length < 8) return null;
  const fromMs = Number.parseInt(digits.padEnd(TIME_DIGITS, '0'), 16);
  const toMs = Number.parseInt(digits.padEnd(TIME_DIGITS, 'f'), 16);
  const [from, to] = [new Date(fromMs - CLOCKS_APART_MS), new Date(toMs + CLOCKS_APART_MS)];
  return from.getUTCFullYear() < 2020 || to.getUTCFullYear() > 2100
    ? null
    : { inserted_at__gte: from.toISOString(), inserted_at__lte: to.toISOString() };
}

function nothing(kind: Kind, given: string): Problem {
  const { noun, shows } = KINDS[kind];
  return new Problem(`there is no ${noun} "${given}": ${shows} shows all`, EXIT.notFound);
}
