/**
 * What Netmaker answers, as far as it matters here. Unknown fields are dropped, and so is what has no meaning without a
 * field that is missing.
 * Learned from its API of versions 0.18 to 1: a list may be `null`, an answer bare or wrapped as {Code, Message,
 * Response}, a field absent or empty.
 */
import { z } from 'zod';

/** Longest enrolment token that is taken, in characters. Source: the frame `netmaker-join`. */
const TOKEN_CHARACTERS_MAX = 8_192;

const text = z.string().catch('');

/** A list whose unreadable entries are left out; null and absent are empty. */
const list = <Entry extends z.ZodType>(entry: Entry) =>
  z
    .array(z.unknown())
    .nullish()
    .transform((entries) =>
      (entries ?? []).flatMap((one): z.output<Entry>[] => {
        const parsed = entry.safeParse(one);
        return parsed.success ? [parsed.data] : [];
      }),
    );

/** GET /api/networks. */
export const Networks = list(z.object({ netid: z.string().min(1), addressrange: text, addressrange6: text }));

/** GET /api/hosts. A default host is put into every network by Netmaker itself. */
export const Hosts = list(z.object({ id: z.string().min(1), name: text, isdefault: z.boolean().catch(false) }));
/** A machine that Netmaker knows. */
export type Host = z.output<typeof Hosts>[number];

/**
 * GET /api/nodes, GET /api/nodes/{network}: a host in a network. Addresses with or without a prefix length;
 * `lastcheckin` in Unix seconds.
 */
export const Nodes = list(
  z.object({
    id: z.string().min(1),
    hostid: z.string().min(1),
    network: z.string().min(1),
    address: text,
    address6: text,
    pendingdelete: z.boolean().catch(false),
    connected: z.boolean().catch(true),
    lastcheckin: z.number().catch(0),
    /** online, warning, offline, error, unknown, disconnected; absent before 0.26. */
    status: text,
    is_static: z.boolean().catch(false),
  }),
);
/** A host in a network. */
export type Node = z.output<typeof Nodes>[number];

/** GET /api/dns/adm/{network}/custom, GET /api/dns. */
export const DnsEntries = list(z.object({ name: z.string().min(1), network: text, address: text, address6: text }));
/** A name in a network, with the addresses that it leads to. */
export type DnsEntry = z.output<typeof DnsEntries>[number];

const EnrollmentKey = z.object({
  value: text,
  token: z.string().max(TOKEN_CHARACTERS_MAX).catch(''),
  networks: list(z.string()),
  tags: list(z.string()),
  unlimited: z.boolean().catch(false),
  uses_remaining: z.number().catch(0),
  default: z.boolean().catch(false),
});

/** GET /api/v1/enrollment-keys. */
export const EnrollmentKeys = list(EnrollmentKey);

/** What lets machines into networks. */
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

/** What is inside of an answer: itself, or the `Response` of a wrapped one. */
export function unwrapped(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return answer;
  const fields = new Map(Object.entries(answer).map(([name, value]) => [name.toLowerCase(), value as unknown]));
  return fields.has('code') && fields.has('message') ? (fields.get('response') ?? null) : answer;
}

/** What Netmaker says about a failure; empty when it says nothing. */
export function reasonIn(body: string): string {
  try {
    const fields = JSON.parse(body) as Record<string, unknown> | null;
    const reason = fields?.['Message'] ?? fields?.['message'];
    return typeof reason === 'string' ? reason : '';
  } catch {
    return '';
  }
}
