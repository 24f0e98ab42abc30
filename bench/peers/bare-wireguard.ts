/** Two ends of WireGuard as an operator sets them up by hand: wireguard-go, `wg`, `ip`. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeKeyPair } from '../../transport/vpn/wireguard/keys.ts';
import type { Machine } from '../../test/support/networks/internet.ts';
import { until } from '../../test/support/until.ts';

const PORT = 51_820;

/** Makes an interface of this MTU on each of two machines, and resolves with the address of the second in it. */
export async function bareWireguard(
  [one, other]: readonly [Machine, Machine],
  name: string,
  mtu: number,
): Promise<string> {
  const ends = [one, other].map((machine, index) => ({
    machine,
    ...makeKeyPair(),
    address: `10.231.${mtu % 250}.${index + 1}`,
    device: `${name}${index}`,
  }));
  for (const [index, { machine, privateKey, address, device }] of ends.entries()) {
    const peer = ends[1 - index];
    if (peer === undefined) throw new Error('two ends');
    machine.spawn('wireguard-go', ['-f', device], { LOG_LEVEL: 'silent' });
    await until(device, () => machine.run('test', ['-S', `/run/wireguard/${device}.sock`]).then(() => true));
    const key = join(machine.directory, device);
    if (!existsSync(key)) await writeFile(key, `${privateKey}\n`, { mode: 0o600 });
    await machine.run('wg', [
      'set',
      device,
      'listen-port',
      `${PORT + (mtu % 250)}`,
      'private-key',
      key,
      'peer',
      peer.publicKey,
      'allowed-ips',
      `${peer.address}/32`,
      'endpoint',
      `${peer.machine.address}:${PORT + (mtu % 250)}`,
    ]);
    await machine.run('ip', ['address', 'add', `${address}/24`, 'dev', device]);
    await machine.run('ip', ['link', 'set', device, 'mtu', `${mtu}`, 'up']);
  }
  return ends[1]?.address ?? '';
}
