/** What a URL, a host name and a port must look like before anything is looked up. Pure. */
import { isIP } from 'node:net';
import type { AddressPolicy } from './policy.ts';
import { URL_CHARS_MAX } from './limits.ts';

/** What was made of a URL: it, parsed, or one sentence for a person. */
export type Destination = { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly reason: string };

/** Ports on which other protocols could be fooled with an HTTP request. Source: Fetch standard, "bad port", 2026-11. */
export const BAD_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080,
]);

/** Names of metadata services. Their addresses are forbidden too, but the names need not be asked for. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'instance-data',
  'instance-data.ec2.internal',
  'metadata.tencentyun.com',
  'api.metadata.cloud.ibm.com',
  'metadata.platformequinix.com',
  'metadata.packet.net',
  'rancher-metadata',
]);

/**
 * Ends of names that mean this machine or its network, and that no public DNS has. Sources: RFC 6761, 6762, 8375,
 * ICANN's .internal.
 */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home\.arpa)$/u;

const NAME_CHARS_MAX = 253; // RFC 1035, 3.1, as text
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/u;

/** A last label that makes other parsers read an IPv4 address. Source: URL standard, "ends in a number". */
const NUMERIC = /^(?:\d+|0x[0-9a-f]*)$/u;

/**
 * Space and control characters, which parsers drop or not as they like, and the backslash, which some take for a slash.
 */
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const AMBIGUOUS = /[\u0000-\u0020\u007F-\u00A0\\]/u;

/**
 * Parses a URL as `new URL()` does, and refuses what two parsers could read in two ways: anything but `http://` or
 * `https://` and an authority, user names, fragments, spaces, backslashes, and ports of other protocols. The host may
 * still be any.
 */
export function destinationOf(text: string): Destination {
  if (text.length > URL_CHARS_MAX) return refused(`The URL is longer than ${URL_CHARS_MAX} characters.`);
  if (AMBIGUOUS.test(text)) return refused('The URL has a space, a control character or a backslash in it.');
  const authority = /^https?:\/\/([^/?#]+)/iu.exec(text)?.[1];
  if (authority === undefined) return refused('The URL must begin with http:// or https:// and a host.');
  if (authority.includes('@')) return refused('The URL must not hold a user name or password: use a header.');
  if (text.includes('#')) return refused('The URL must not have a fragment (#…): it would not be sent.');
  const url = URL.parse(text);
  if (url === null) return refused('The URL is not valid: look at its host and port.');
  if (isIP(url.hostname) === 4 && hostIn(authority) !== url.hostname)
    return refused(
      `The host is an address in a form that programs read in different ways: write ${url.hostname}, if that is meant.`,
    );
  const problem = portProblem(url.port === '' ? undefined : Number(url.port));
  return problem === undefined ? { ok: true, url } : refused(problem);
}

/** The host of an authority as it was written, without its port. */
function hostIn(authority: string): string {
  return authority.replace(/:\d*$/u, '');
}

/** Why a port must not be spoken HTTP to, or undefined. */
export function portProblem(port: number | undefined): string | undefined {
  return port !== undefined && BAD_PORTS.has(port) ? `Port ${port} belongs to another protocol than HTTP.` : undefined;
}

/** Why a name (lower case, no address) must not even be looked up, or undefined. */
export function nameProblem(name: string, policy: AddressPolicy): string | undefined {
  const bare = bareName(name);
  if (!isName(bare)) return 'The host is not a valid name.';
  const ruling = policy.rulingOn?.(bare);
  if (ruling !== undefined)
    return ruling === 'blocked' ? `${bare} is blocked by the operator of this machine.` : undefined;
  if (METADATA_NAMES.has(bare)) return `${bare} is a metadata service, which must not be reached.`;
  return PRIVATE_NAME.test(bare) && !policy.allowPrivate
    ? `${bare} is a name of a private network, which must not be reached.`
    : undefined;
}

/**
 * Whether a text is a name: labels of ASCII letters in lower case, digits, hyphens and underscores, that no parser
 * takes for an address. Without a last dot.
 */
export function isName(text: string): boolean {
  const labels = text.split('.');
  return (
    text.length <= NAME_CHARS_MAX && labels.every((label) => LABEL.test(label)) && !NUMERIC.test(labels.at(-1) ?? '')
  );
}

/** A name without the dot that may end it. */
export function bareName(name: string): string {
  return name.replace(/\.$/u, '');
}

/** A host without the brackets of an IPv6 address, in lower case. */
export function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/u, '$1').toLowerCase();
}

/** Whether a host is meant as an address: one, or something with a colon or a zone, which no name has. */
export function isLiteral(host: string): boolean {
  return isIP(host) !== 0 || /[:%]/u.test(host);
}

function refused(reason: string): Destination {
  return { ok: false, reason };
}
