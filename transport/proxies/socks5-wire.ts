/** The bytes of SOCKS version 5 (RFC 1928) and of its user names and passwords (RFC 1929). Pure. */
import { isIPv6 } from 'node:net';
import type { DialFailure } from '../net/streams/dialled.ts';
import type { Credentials } from './ports.ts';
import { hostOf } from './client-targets.ts';

/** Version, the first byte of a greeting, a request and a reply. */
export const SOCKS_VERSION = 5;

/** Ways to authenticate. Source: RFC 1928, 3. */
export const METHOD = { none: 0x00, password: 0x02, unacceptable: 0xff } as const;

/** The one command that is served. Source: RFC 1928, 4. */
export const CONNECT = 1;

/** Replies that no dial gives. Source: RFC 1928, 6. */
export const REPLY = {
  succeeded: 0,
  general: 1,
  notAllowed: 2,
  commandNotSupported: 7,
  addressTypeNotSupported: 8,
} as const;

/**
 * Replies to failed dials. `timed_out` is TTL expired, as in dante and microsocks; a node that is `offline` is a
 * network that cannot be reached.
 */
export const DIAL_REPLY = {
  refused: 5,
  unreachable: 4,
  unresolved: 4,
  timed_out: 6,
  failed: 1,
  blocked: 2,
  loop: 2,
  unknown_node: 4,
  offline: 3,
  overloaded: 1,
} as const satisfies Record<DialFailure, number>;

/** Kinds of addresses. Source: RFC 1928, 5. */
const ADDRESS = { ipv4: 1, name: 3, ipv6: 4 } as const;

const LOGIN_VERSION = 1;
const IPV4_BYTES = 4;
const IPV6_BYTES = 16;
const PORT_BYTES = 2;

/** Bytes before the address of a request: version, command, reserved, kind. */
const REQUEST_HEAD_BYTES = 4;

/** A message at the beginning of some bytes, and its length. Null where it stands for one: it is not all there yet. */
export interface Read<T> {
  readonly message: T;
  readonly bytes: number;
}

/**
 * What a client asks for; host null: no host can be read out of it, port 0 included. Kind false: of a kind that RFC
 * 1928 does not know.
 */
export interface SocksRequest {
  readonly command: number;
  readonly isKindKnown: boolean;
  readonly host: string | null;
  readonly port: number;
}

/** The methods that a client offers, after its version. */
export function readGreeting(bytes: Buffer): Read<Uint8Array> | null {
  const count = bytes[1];
  return count === undefined || bytes.length < 2 + count
    ? null
    : { message: bytes.subarray(2, 2 + count), bytes: 2 + count };
}

/** A user name and password; the message is null when it is of another version. */
export function readLogin(bytes: Buffer): Read<Credentials | null> | null {
  if (bytes.length > 0 && bytes[0] !== LOGIN_VERSION) return { message: null, bytes: bytes.length };
  const userEnd = 2 + (bytes[1] ?? Infinity);
  const passwordEnd = userEnd + 1 + (bytes[userEnd] ?? Infinity);
  if (bytes.length < passwordEnd) return null;
  return {
    message: {
      username: bytes.toString('utf8', 2, userEnd),
      password: bytes.toString('utf8', userEnd + 1, passwordEnd),
    },
    bytes: passwordEnd,
  };
}

/** A request, after its version was looked at. */
export function readRequest(bytes: Buffer): Read<SocksRequest> | null {
  const [, command, , kind, first] = bytes;
  if (command === undefined || kind === undefined) return null;
  const addressBytes =
    kind === ADDRESS.ipv4
      ? IPV4_BYTES
      : kind === ADDRESS.ipv6
        ? IPV6_BYTES
        : kind === ADDRESS.name
          ? 1 + (first ?? Infinity)
          : 0;
  if (addressBytes === 0) return { message: { command, isKindKnown: false, host: null, port: 0 }, bytes: bytes.length };
  const end = REQUEST_HEAD_BYTES + addressBytes + PORT_BYTES;
  if (bytes.length < end) return null;
  const port = bytes.readUInt16BE(end - PORT_BYTES);
  const host = port === 0 ? null : addressOf(kind, bytes.subarray(REQUEST_HEAD_BYTES, end - PORT_BYTES));
  return { message: { command, isKindKnown: true, host, port }, bytes: end };
}

/** A reply. The address it was bound to is nobody's business: zeros. */
export function replyOf(code: number): Buffer {
  return Buffer.from([SOCKS_VERSION, code, 0, ADDRESS.ipv4, 0, 0, 0, 0, 0, 0]);
}

/** The answer to a login: 0 lets in. Source: RFC 1929, 2. */
export function loginReply(isAdmitted: boolean): Buffer {
  return Buffer.from([LOGIN_VERSION, isAdmitted ? 0 : 1]);
}

function addressOf(kind: number, bytes: Buffer): string | null {
  if (kind === ADDRESS.ipv4) return bytes.join('.');
  if (kind === ADDRESS.ipv6) return ipv6Of(bytes);
  const name = bytes.toString('latin1', 1);
  return hostOf(name.startsWith('[') && isIPv6(name.slice(1, -1)) && name.endsWith(']') ? name.slice(1, -1) : name);
}

/** Text of an IPv6 address: the longest run of zero groups, the first of equal ones, is `::`. Source: RFC 5952, 4. */
function ipv6Of(bytes: Buffer): string {
  const groups = Array.from({ length: IPV6_BYTES / 2 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  const text = groups.join(':');
  const zeros = (text.match(/\b0(?::0)+\b/gu) ?? []).reduce(
    (longest, run) => (run.length > longest.length ? run : longest),
    '',
  );
  if (zeros === '') return text;
  const at = text.search(new RegExp(`(?<![^:])${zeros}(?![^:])`, 'u'));
  const [before, after] = [text.slice(0, at).replace(/:$/u, ''), text.slice(at + zeros.length).replace(/^:/u, '')];
  return `${before}::${after}`;
}
