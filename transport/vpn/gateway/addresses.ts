/** The gateway's own addresses: the first of each VPN that it joins. */

/** An address of each family, plain and with the prefix length of its VPN. */
export interface GatewayAddresses {
  readonly ipv4: string;
  readonly ipv6: string;
  readonly cidrs: readonly [string, string];
}

/**
 * Host 1 of a cluster's ranges, as the rows write them: `100.64.7.0/24` and `fd00:1:2:3::/64`. Members have 2 and
 * above.
 */
export function gatewayAddresses(ipv4Range: string, ipv6Range: string): GatewayAddresses {
  const [network4 = '', prefix4 = ''] = ipv4Range.split('/');
  const [network6 = '', prefix6 = ''] = ipv6Range.split('/');
  const octets = network4.split('.').map(Number);
  // a network of 30 bits and less has an even last octet
  const ipv4 = [...octets.slice(0, 3), (octets[3] ?? 0) + 1].join('.');
  const ipv6 = `${network6}1`; // of 64 bits: it ends in ::
  return { ipv4, ipv6, cidrs: [`${ipv4}/${prefix4}`, `${ipv6}/${prefix6}`] };
}
