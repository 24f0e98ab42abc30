/** Endpoints and ranges, as they are written. Pure. */
import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** An endpoint in its parts; null: it is none. */
export function endpointParts(
  endpoint: string,
): { readonly address: string; readonly port: number; readonly family: 'ipv4' | 'ipv6' } | null {
  const [, bracketed, plain, port] = /^(?:\[([\da-f:.]+)\]|([\d.]+)):(\d{1,5})$/iu.exec(endpoint) ?? [];
  const address = bracketed ?? plain ?? '';
  if (!isIPv4(address) && !isIPv6(address)) return null;
  return { address, port: Number(port), family: isIPv4(address) ? 'ipv4' : 'ipv6' };
}

/** The other way round. */
export function endpointOf(address: string, port: number): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Ranges such as `10.0.0.0/8`, and single addresses, to be looked up in. What is neither is left out. */
export function rangesOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', length] = cidr.split('/');
    const family = isIPv4(address) ? 'ipv4' : isIPv6(address) ? 'ipv6' : null;
    if (family === null) continue;
    if (length === undefined) list.addAddress(address, family);
    else if (/^\d+$/u.test(length) && Number(length) <= (family === 'ipv4' ? 32 : 128))
      list.addSubnet(address, Number(length), family);
  }
  return list;
}
