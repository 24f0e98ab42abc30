/** Interfaces of VPNs that machines have by this service: an agent's own, and that of Netmaker's client. */
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import type { NodeId } from '../../transport/protocol/ids.ts';

/** Of an agent; `netmaker`, or with an older netclient one for each network. */
const VPN_INTERFACE = /^(?:edge[\da-f]{8}|netmaker|nm-.+)$/u;

/** The same at every start, and no other agent's on this machine. */
export function interfaceNameOf(node: NodeId): string {
  return `edge${node.slice(0, 8)}`;
}

/** Addresses of this machine in VPNs now. Netmaker's are found on Linux alone, where its interface has that name. */
export function vpnAddresses(
  interfaces: Readonly<
    Record<string, readonly Pick<NetworkInterfaceInfo, 'address'>[] | undefined>
  > = networkInterfaces(),
): readonly string[] {
  return Object.entries(interfaces).flatMap(([name, entries = []]) =>
    VPN_INTERFACE.test(name) ? entries.map(({ address }) => address) : [],
  );
}
