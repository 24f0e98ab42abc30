/** Which headers a webhook may bring along. Pure. */

/** Most characters of one name, far above what is in use. */
export const HEADER_NAME_CHARS_MAX = 128;

/**
 * Names, in lower case, that a webhook may not set: those that each delivery has already, and those that say how the
 * request is framed, encoded and routed, with which a receiver could be told another request than was sent. Source: RFC
 * 9110, 7.6.1; RFC 9112, 6.
 */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'content-type',
  'user-agent',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-transfer-encoding',
  'date',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]);

/** Beginnings of names that are this service's, now and later: signatures, and the headers of Standard Webhooks. */
const RESERVED_PREFIXES = ['x-edge-', 'webhook-'];

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u; // RFC 9110, 5.6.2: token

/**
 * Visible ASCII, with spaces and tabs inside only: what stands outside is lost on the way, and what is not ASCII is
 * read in many ways.
 */
const VALUE = /^(?:[\u0021-\u007E](?:[\t\u0020-\u007E]*[\u0021-\u007E])?)?$/u;

/**
 * Names and values as patterns of JSON Schema; which names are reserved is said in words only where a pattern would be
 * one of all of them.
 */
export const HEADER_NAME_PATTERN = String.raw`^(?![Xx]-[Ee][Dd][Gg][Ee]-|[Ww][Ee][Bb][Hh][Oo][Oo][Kk]-)[!#$%&'*+.^_\x60|~0-9A-Za-z-]{1,128}$`;
export const HEADER_VALUE_PATTERN = VALUE.source;

/** Whether this can be the name of a header at all. */
export function isHeaderName(name: string): boolean {
  return name.length <= HEADER_NAME_CHARS_MAX && NAME.test(name);
}

/**
 * Why a webhook may not have this header, in one sentence for the person who gave it; null: it may. Its length is up to
 * the schema. The value is not in the sentence (E4).
 */
export function headerProblem(name: string, value: string): string | null {
  if (!isHeaderName(name))
    return `A header's name must be 1 to ${HEADER_NAME_CHARS_MAX} letters, digits and -, as in X-Api-Key.`;
  const known = name.toLowerCase();
  if (RESERVED_HEADERS.has(known) || RESERVED_PREFIXES.some((prefix) => known.startsWith(prefix)))
    return `The header ${name} is set by this service, or by HTTP itself.`;
  return VALUE.test(value)
    ? null
    : `The value of ${name} must be printable ASCII, without line breaks, or spaces at its ends.`;
}
