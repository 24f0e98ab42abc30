/** What is wrong with the addresses of this machine in its VPN, in one sentence. */
import { NOTHING_REFUSED, type Member } from '../../transport/vpn/member/member.ts';

/**
 * Null: nothing is. Its own addresses are told by the admin: one that the system does not take is nobody else's fault.
 */
export function addressProblem(member: Member | null): string | null {
  const { addresses, taken } = member?.refused() ?? NOTHING_REFUSED;
  if (addresses.length > 0) return 'the interface does not take an address that the admin gave to this machine';
  const [first] = taken;
  if (first === undefined) return null;
  const [without, left] = first.includes(':') ? ['IPv6', 'IPv4'] : ['IPv4', 'IPv6'];
  return taken.length > 1
    ? 'this machine has other addresses in the ranges of its cluster, so it has none in the VPN: give the cluster other ranges'
    : `this machine has another address in the ${without} range of its cluster, so it is in the VPN by ${left} alone: give the cluster another range`;
}
