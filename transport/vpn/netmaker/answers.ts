/**
 * What Netmaker answers, as far as it matters here. Unknown fields are dropped, and so is what has no meaning without a
 * field that is missing.
 * Learned from its API of versions 0.18 to 1: a list may be `null`, an answer bare or wrapped as {Code, Message,
 * Response}, a field absent or empty.
 */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';

/**
 * Longest list that is read, in entries: names are the most of them, up to 17 of each host and those that Netmaker
 * makes itself. It keeps short entries in bounds; names, of five values each, are bounded by ANSWER_VALUES_MAX.
 */
export const ANSWER_ENTRIES_MAX = 1_000_000;

/** Entries that are read in one turn of the event loop: 10,000 took 0.13 s. */
const ENTRIES_AT_ONCE = 500;

/** Longest enrolment token that is taken, in characters. Source: the frame `netmaker-join`. */
const TOKEN_CHARACTERS_MAX = 8_192;

/**
 * Longest id or name of Netmaker that is read, in characters: its own ids have 36, names of DNS 253. An index of
 * PostgreSQL takes 2,704 bytes.
 */
export const ID_CHARACTERS_MAX = 512;

const text = z.string().catch('');

/**
 * What something is known by there, to be stored, and to be asked for by a path. One with a NUL can be stored nowhere,
 * and one with half a character is another one wherever it is stored: nobody is known by either.
 */
const id = z.string().min(1).max(ID_CHARACTERS_MAX).refine(isWhole);

/** Words of a list; what is no word is left out. */
const texts = z
  .unknown()
  .transform((entries): readonly string[] => (Array.isArray(entries) ? entries.filter(isText) : []));

/** One of GET /api/networks. */
export const Network = z.object({ netid: id, addressrange: text, addressrange6: text });

/** One of GET /api/hosts: a machine that Netmaker knows. It puts a default host into every network by itself. */
export const Host = z.object({ id, name: text, isdefault: z.boolean().catch(false) });
export type Host = z.output<typeof Host>;

/**
 * One of GET /api/nodes, GET /api/nodes/{network}: a host in a network. Addresses with or without a prefix length;
 * `lastcheckin` in Unix seconds.
 */
export const Node = z.object({
  id,
  hostid: id,
  network: id,
  address: text,
  address6: text,
  pendingdelete: z.boolean().catch(false),
  connected: z.boolean().catch(true),
  lastcheckin: z.number().catch(0),
  /** online, warning, offline, error, unknown, disconnected; absent before 0.26. */
  status: text,
  is_static: z.boolean().catch(false),
});
export type Node = z.output<typeof Node>;

/** One of GET /api/dns/adm/{network}/custom, GET /api/dns: a name in a network, with the addresses that it leads to. */
export const DnsEntry = z.object({ name: id, network: id.catch(''), address: text, address6: text });
export type DnsEntry = z.output<typeof DnsEntry>;

/** One of GET /api/v1/enrollment-keys: what lets machines into networks. */
export const EnrollmentKey = z.object({
  value: text,
  token: z.string().max(TOKEN_CHARACTERS_MAX).refine(isWhole).catch(''),
  networks: texts,
  tags: texts,
  unlimited: z.boolean().catch(false),
  uses_remaining: z.number().catch(0),
  default: z.boolean().catch(false),
});
export type EnrollmentKey = z.output<typeof EnrollmentKey>;

/** GET /api/server/status, which needs no key. */
export const ServerStatus = z.object({
  db_connected: z.boolean().catch(true),
  broker_connected: z.boolean().catch(true),
});

/**
 * GET /api/server/getserverinfo, for the domain that Netmaker puts behind every name, if it does. Spelled as its
 * version does.
 */
export const ServerInfo = z
  .object({ DefaultDomain: text, default_domain: text, defaultDomain: text })
  .transform((info) =>
    (info.default_domain || info.DefaultDomain || info.defaultDomain).toLowerCase().replace(/^\.|\.$/gu, ''),
  );

/**
 * The entries of a list. What cannot be read is left out; null and absent are empty. Null: it is no list;
 * `'too-long'`: it has more than ANSWER_ENTRIES_MAX. Others go on while a long one is read.
 */
export async function entriesIn<Entry extends z.ZodType>(
  answer: unknown,
  entry: Entry,
): Promise<readonly z.output<Entry>[] | 'too-long' | null> {
  const listed: unknown = answer ?? [];
  if (!Array.isArray(listed)) return null;
  if (listed.length > ANSWER_ENTRIES_MAX) return 'too-long';
  const entries: z.output<Entry>[] = [];
  for (const [index, one] of listed.entries()) {
    if (index % ENTRIES_AT_ONCE === ENTRIES_AT_ONCE - 1) await setImmediate();
    const read = entry.safeParse(one);
    if (read.success) entries.push(read.data);
  }
  return entries;
}

/** What is inside of an answer: itself, or the `Response` of a wrapped one. */
export function unwrapped(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return answer;
  const isWrapped = field(answer, 'Code') !== undefined && field(answer, 'Message') !== undefined;
  return isWrapped ? (field(answer, 'Response') ?? null) : answer;
}

/** What Netmaker says about a failure; empty when it says nothing. */
export function reasonIn(answer: unknown): string {
  const reason = typeof answer === 'object' && answer !== null ? field(answer, 'Message') : undefined;
  return typeof reason === 'string' ? reason : '';
}

/** By its name, which some versions write in small letters. */
function field(of: object, name: string): unknown {
  const fields = of as Readonly<Record<string, unknown>>;
  return fields[name] ?? fields[name.toLowerCase()];
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isWhole(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed();
}
