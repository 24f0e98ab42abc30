/** Where this machine may be reached by its own addresses. */
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { VPN_ENDPOINTS_MAX } from '../../protocol/vpn.ts';
import { isReachableClass, packetClass } from '../../net/addresses.ts';
import { endpointOf, rangesOf } from '../../net/endpoints.ts';

/** Addresses by name of the interface, as `os.networkInterfaces` tells them. */
export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/**
 * Bridges of containers and virtual machines: nobody outside reaches them. Judgement, by the names that these programs
 * give.
 */
const BRIDGE = /^(?:docker|br-|veth|virbr|vmbr|cni|flannel|cali|podman|lxc|lxd|vnet|kube)/u;

/** Interfaces of other members on this machine: agents and gateways. What is inside a VPN is no way to it. */
const MEMBER = /^edge(?:[\da-f]{8}|gw\d+)$/u;

/** Interfaces of this machine now. A machine where they cannot be read has none. */
export function systemInterfaces(): Interfaces {
  try {
    return networkInterfaces();
  } catch {
    return {};
  }
}

/**
 * Addresses with their prefix lengths, likeliest to be reached first, at most as many as a member publishes.
 * `vpnRanges` and the interface `except` are not outside.
 */
export function localAddresses(
  interfaces: Interfaces,
  except: string,
  vpnRanges: readonly string[],
): readonly string[] {
  const vpn = rangesOf(vpnRanges);
  const found = Object.entries(interfaces).flatMap(([name, infos]) =>
    name === except || MEMBER.test(name)
      ? []
      : (infos ?? []).flatMap((info) => {
          const family = info.family === 'IPv6' ? 'ipv6' : 'ipv4';
          if (
            info.internal ||
            info.cidr === null ||
            !isReachableClass(packetClass(info.address)) ||
            vpn.check(info.address, family)
          )
            return [];
          return [{ cidr: info.cidr, rank: (BRIDGE.test(name) ? 2 : 0) + (family === 'ipv6' ? 1 : 0) }];
        }),
  );
  return found
    .toSorted((a, b) => a.rank - b.rank || (a.cidr < b.cidr ? -1 : 1))
    .slice(0, VPN_ENDPOINTS_MAX)
    .map(({ cidr }) => cidr);
}

/**
 * Those of the VPN's addresses (with prefix lengths) in whose range this machine has an address of its own, outside of
 * the interface `except`: their route would take its neighbours from it, and perhaps its gateway.
 */
export function takenRanges(interfaces: Interfaces, except: string, vpnRanges: readonly string[]): ReadonlySet<string> {
  const own = Object.entries(interfaces).flatMap(([name, infos]) =>
    name === except || MEMBER.test(name) ? [] : (infos ?? []),
  );
  return new Set(
    vpnRanges.filter((range) => {
      const inside = rangesOf([range]);
      return own.some(({ address, family }) => inside.check(address, family === 'IPv6' ? 'ipv6' : 'ipv4'));
    }),
  );
}

/** The same as endpoints with this port. */
export function localEndpoints(addresses: readonly string[], port: number): readonly string[] {
  return addresses.map((cidr) => endpointOf(cidr.split('/')[0] ?? '', port));
}
