/** Which interfaces are those of VPNs: of an agent, and of Netmaker's client. */
import test from 'ava';
import { interfaceNameOf, vpnAddresses } from '../../../../agent/vpn/interface-names.ts';
import { NodeId } from '../../../../transport/protocol/ids.ts';

test('addresses of VPNs are those of the interfaces of agents and of Netmaker, and of no other', (t) => {
  const own = interfaceNameOf(NodeId.parse('6f2c6a52-8d2b-4a3e-9f54-0d6c1f3f7a01'));
  const names = [own, 'netmaker', 'nm-cluster-a', 'lo', 'eth0', 'edgegw0001', 'nm', 'netmaker0'];

  const found = vpnAddresses(Object.fromEntries(names.map((name) => [name, [{ address: `of ${name}` }]])));

  t.deepEqual(
    found,
    [own, 'netmaker', 'nm-cluster-a'].map((name) => `of ${name}`),
  );
});
