/** Connections of a member to real relays. */
import test from 'ava';
import { Relays } from '../../../../../transport/vpn/member/relays.ts';
import { makeKeyPair } from '../../../../../transport/vpn/wireguard/keys.ts';
import { startRelay } from '../../../../support/relay.ts';
import { until } from '../../../../support/until.ts';

test('what was connected before an address went, or a sleep, is connected again at once, and carries packets', async (t) => {
  const { map, region, relay } = await startRelay(t);
  const [one, other] = [makeKeyPair(), makeKeyPair()];
  const heard: string[] = [];
  const [from, to] = [
    { received: () => {} },
    {
      received: (publicKey: string, packet: Uint8Array) => {
        heard.push(`${publicKey} ${Buffer.from(packet).toString()}`);
      },
    },
  ].map((ports) => new Relays({ ...ports, changed: () => {} })) as [Relays, Relays];
  t.teardown(() => {
    from.close();
    to.close();
  });
  from.become(map, one.privateKey);
  to.become(map, other.privateKey);
  await until('both', () => relay.count() === 2 && !from.isSearching && !to.isSearching);

  to.renew();
  t.true(to.isSearching);
  await until('the relay again', () => !to.isSearching && relay.count() === 2);
  await until('a packet', () => {
    from.send(region.id, other.publicKey, Buffer.from('hello'));
    return heard.length > 0;
  });

  t.is(heard[0], `${one.publicKey} hello`);
  t.true(to.carries(region.id));
});
