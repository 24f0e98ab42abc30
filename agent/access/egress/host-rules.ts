/** Hosts as an operator lists them: names, everything under a name, addresses and ranges. Pure. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { bareName, isName } from '../../../transport/net/outbound-guard/destination.ts';

/** One entry of such a list. */
export type HostRule =
  | { readonly kind: 'name'; readonly name: string }
  /** All names that end in it, with a dot before: `*.example.com` does not hold `example.com`. */
  | { readonly kind: 'suffix'; readonly suffix: string }
  | {
      readonly kind: 'addresses';
      readonly first: ipaddr.IPv4 | ipaddr.IPv6;
      readonly bits: number;
      readonly isSingle: boolean;
    };

/** Reads `name`, `*.suffix`, an address or a range such as 10.0.0.0/8. Null when it is none of these. */
export function hostRule(text: string): HostRule | null {
  const written = bareName(text.toLowerCase());
  if (written.startsWith('*.')) return isName(written.slice(2)) ? { kind: 'suffix', suffix: written.slice(1) } : null;
  const [address = '', bits, ...more] = written.split('/');
  if (isIP(address) === 0 || address.includes('%')) return isName(written) ? { kind: 'name', name: written } : null;
  const first = ipaddr.parse(address);
  const bitsMax = first.toByteArray().length * 8;
  const size = bits === undefined ? bitsMax : /^\d{1,3}$/u.test(bits) ? Number(bits) : Infinity;
  return more.length > 0 || size > bitsMax
    ? null
    : { kind: 'addresses', first, bits: size, isSingle: size === bitsMax };
}

/**
 * The first of the rules that holds a host, a name in lower case without a last dot or an address. A single address
 * comes before ranges.
 */
export function ruleFor(host: string, rules: readonly HostRule[]): HostRule | undefined {
  if (isIP(host) === 0)
    return rules.find((rule) =>
      rule.kind === 'name' ? rule.name === host : rule.kind === 'suffix' && host.endsWith(rule.suffix),
    );
  if (host.includes('%')) return undefined;
  const address = ipaddr.parse(host);
  const holding = rules.filter(
    (rule) => rule.kind === 'addresses' && rule.first.kind() === address.kind() && address.match(rule.first, rule.bits),
  );
  return holding.find((rule) => rule.kind === 'addresses' && rule.isSingle) ?? holding[0];
}
