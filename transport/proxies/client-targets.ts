/** Where clients want to go, as they may write it. */
import { isIPv6 } from 'node:net';
import { HOST_BYTES_MAX } from './limits.ts';

/** Host without brackets, lower case; port 1 to 65535. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/**
 * A name or an IPv4 address: no control characters, spaces, or anything that another program could take for more than a
 * host.
 */
const HOST = new RegExp(`^[a-z0-9._-]{1,${HOST_BYTES_MAX}}$`, 'u');

const AUTHORITY = /^(?:\[(?<ipv6>[^\]]*)\]|(?<name>[^:[\]]*))(?::(?<port>\d{1,5}))?$/u;

/** A host as a client wrote it: a name or an address. Null: it is none. */
export function hostOf(text: string): string | null {
  const host = text.toLowerCase();
  return HOST.test(host) || (isIPv6(host) && !host.includes('%')) ? host : null;
}

/**
 * `host:port` or `[IPv6]:port`. A port that is not there is `defaultPort`; null: it must be there. Null: no such thing,
 * user names included.
 */
export function authorityOf(text: string, defaultPort: number | null): Target | null {
  const { ipv6, name, port: portText } = AUTHORITY.exec(text)?.groups ?? {};
  const host = hostOf(ipv6 ?? name ?? '');
  const port = portText === undefined ? defaultPort : Number(portText);
  if (host === null || port === null || !isPort(port) || (ipv6 !== undefined) !== host.includes(':')) return null;
  return { host, port };
}

/** Whether a number may be dialled as a port. */
export function isPort(port: number): boolean {
  return port >= 1 && port <= 65_535;
}
