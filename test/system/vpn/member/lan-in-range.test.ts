/** A member on a LAN whose addresses are those of its VPN. */
import { startInternet } from '../../../support/networks/internet.ts';
import { mapOfRelays, startRelayOn, startVpn } from '../../../support/vpn/members.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('root', 'ip', 'nft', 'conntrack', 'wireguard-go', 'wg', 'ping', 'setpriv');

test('on a LAN with the range of the VPN a member keeps the LAN, and is in the VPN by IPv6 alone', async (t) => {
  const internet = await startInternet(t);
  const relay = await startRelayOn(await internet.host('hub'), 900);
  const vpn = startVpn(t, () => mapOfRelays([relay]));
  const lan = await internet.nat('easy', { lan: '100.64.0' });
  const [inside, outside] = [
    await vpn.join(await lan.machine('inside'), lan.address),
    await vpn.join(await internet.host('outside')),
  ];
  const addresses = (): Promise<{ stdout: string }> =>
    inside.machine.run('ip', ['-brief', 'address', 'show', inside.interfaceName]);

  await until('the VPN by IPv6', () => outside.machine.succeeds('ping', ['-n', '-c', '1', '-W', '2', inside.ipv6]));

  t.true(await inside.machine.succeeds('ping', ['-n', '-c', '1', '-W', '2', '100.64.0.1']), 'the router of the LAN');
  t.false((await addresses()).stdout.includes(inside.ipv4));
  t.deepEqual((await inside.look()).taken, [`${inside.ipv4}/24`]);

  // a machine of the LAN at the address that the other member has in the VPN
  const before = (await inside.machine.run('ip', ['route', 'get', outside.ipv4])).stdout;
  await until('long packets by IPv6', async () => {
    const { stdout } = await inside.machine.run('ip', ['-6', 'route', 'show', outside.ipv6]);
    return stdout.includes('mtu 1440') && (await inside.pathTo(outside))?.mtu === 1_440;
  });
  t.false(before.includes(inside.interfaceName), before);
  t.is((await inside.machine.run('ip', ['route', 'get', outside.ipv4])).stdout, before);

  const { address } = inside.machine;
  await inside.machine.run('ip', ['address', 'add', '192.168.77.7/24', 'dev', 'eth0']);
  await inside.machine.run('ip', ['address', 'delete', `${address}/24`, 'dev', 'eth0']);

  await until('the whole VPN on another LAN', async () => (await addresses()).stdout.includes(inside.ipv4), 30_000);
  await until('no range that is taken', async () => (await inside.look()).taken.length === 0);
});
