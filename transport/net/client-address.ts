/**
 * Where a request comes from: the other end of its connection, or, where a proxy stands there that the operator trusts,
 * the address which that proxy names. Said once when it comes in, for everybody who counts by address.
 */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { plainAddress } from './addresses.ts';

/** Proxies in a row that are looked past. Nobody has more; who writes more is not looked through. */
export const PROXIES_MAX = 16;

const CLIENT = Symbol('address of the client');

/** A request as it came in, and whose it is. */
interface Marked {
  readonly socket: { readonly remoteAddress?: string | undefined };
  [CLIENT]?: string;
}

/** Addresses and ranges (CIDR) of proxies, whose words of their clients are believed. */
export class TrustedProxies {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = '', bits] = range.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      this.#list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
    }
    this.#isEmpty = ranges.length === 0;
  }

  /**
   * Whose a request is. `forwarded`: its X-Forwarded-For, to which each proxy adds whom it serves. From the right the
   * first that is not trusted is the client: what stands before it anybody may have written. Where an entry is no
   * address, the proxy that wrote it is the client.
   */
  clientOf(peer: string, forwarded: string | undefined): string {
    let client = plainAddress(peer);
    if (this.#isEmpty || forwarded === undefined) return client;
    for (const entry of forwarded.split(',').reverse().slice(0, PROXIES_MAX)) {
      if (!this.#has(client)) return client;
      const named = addressIn(entry.trim());
      if (named === null) return client;
      client = named;
    }
    return client;
  }

  #has(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  }
}

/** Notes whose a request is. Before anything else looks at it. */
export function noteClient(request: Marked & Pick<IncomingMessage, 'headers'>, proxies: TrustedProxies): void {
  const forwarded = request.headers['x-forwarded-for'];
  const said = Array.isArray(forwarded) ? forwarded.join() : forwarded;
  request[CLIENT] = proxies.clientOf(request.socket.remoteAddress ?? 'unknown', said);
}

/** Whose a request is; the other end of its connection where nobody noted it. IPv4 in its own form. */
export function clientAddressOf(request: Marked): string {
  return request[CLIENT] ?? plainAddress(request.socket.remoteAddress ?? 'unknown');
}

/** The address of an entry, which some proxies write with a port. Null: it is none. */
function addressIn(entry: string): string | null {
  const bare = /^\[([^\]]+)\](?::\d+)?$/u.exec(entry)?.[1] ?? /^([\d.]+):\d+$/u.exec(entry)?.[1] ?? entry;
  return isIP(bare) === 0 || bare.includes('%') ? null : plainAddress(bare);
}

/** Whether a request came by TLS, to this process or, as it says itself, to a proxy before it. */
export function cameByTls({ socket, headers }: IncomingMessage): boolean {
  return 'encrypted' in socket || String(headers['x-forwarded-proto']).split(',')[0]?.trim() === 'https';
}
