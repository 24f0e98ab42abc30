/** Members on machines of a real internet of namespaces: how packets go from one to another. */
import { startInternet } from '../../support/networks/internet.ts';
import { mapOfRelays, pinged, startMesh, startRelayOn, untilPath } from '../../support/mesh/members.ts';
import { peerTest } from '../../support/peer-test.ts';

const test = await peerTest('root', 'ip', 'nft', 'conntrack', 'wireguard-go', 'wg', 'ping');

test('two behind easy NATs go directly soon', async (t) => {
  const internet = await startInternet(t);
  const hub = await internet.host('hub');
  const relay = await startRelayOn(hub, 900);
  const mesh = startMesh(t, () => mapOfRelays([relay]));
  const [left, right] = await Promise.all([internet.nat('easy'), internet.nat('easy')]);
  const one = await mesh.join(await left.machine('one'), left.address);
  const other = await mesh.join(await right.machine('other'), right.address);

  await untilPath(one, other, 'direct');
  const { sent, received } = await pinged(one, other, 10);

  t.deepEqual({ sent, received }, { sent: 10, received: 10 });
});
