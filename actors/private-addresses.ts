/** Addresses that mean another machine in every network: which of them are nobody's in particular. Pure. */

/**
 * Whether an address is one of a local network: RFC 1918, shared (RFC 6598), link-local IPv6, unique local (RFC 4193).
 * Loopback, multicast, link-local IPv4 (where metadata services are) and everything that is no plain address are not.
 */
export function isPrivateAddress(address: string): boolean {
  const [first = Number.NaN, second = Number.NaN] = /^\d{1,3}(?:\.\d{1,3}){3}$/u.test(address)
    ? address.split('.').map(Number)
    : [];
  if (Number.isNaN(first)) return /^(?:fe[89ab][\da-f]|f[cd][\da-f]{2}):/iu.test(address);
  return (
    first === 10 ||
    (first === 172 && second >= 16 && second <= 31) ||
    (first === 192 && second === 168) ||
    (first === 100 && second >= 64 && second <= 127)
  );
}
