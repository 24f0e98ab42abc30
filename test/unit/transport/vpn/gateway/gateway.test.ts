/** Which VPNs a gateway joins, and who is told where it is. */
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { FIREWALL_AGAIN_MS_MAX } from '../../../../../transport/vpn/gateway/firewalled-member.ts';
import { GATEWAY_ROUND_MS } from '../../../../../transport/vpn/gateway/rounds.ts';
import { until } from '../../../../support/until.ts';
import { clusterId, key, member, vpn } from './fixture.ts';
import { OWN, fixture } from './gateway-fixture.ts';

test('an admin joins the VPNs of its clusters by one interface, behind a firewall that stands before it', async (t) => {
  const { gateway, owned, members, order, pass } = fixture(t);
  owned.set(clusterId(1), 1).set(clusterId(2), 1);

  gateway.become(vpn(1, [member(1, 2)]));
  gateway.become(vpn(2, [member(2, 2)]));
  await pass(20);

  t.is(members.length, 1);
  t.deepEqual(members[0]?.wanted[0]?.addresses, [
    '100.64.1.1/24',
    'fd00:0:0:1::1/64',
    '100.64.2.1/24',
    'fd00:0:0:2::1/64',
  ]);
  t.deepEqual([...(members[0]?.wanted[0]?.peers.keys() ?? [])], [key(258), key(514)]);
  t.deepEqual(order.slice(0, 2), ['firewall', 'interface']);
});

test('nothing is opened before there is a VPN, nor for one of another admin', async (t) => {
  const { gateway, members, order, pass } = fixture(t);

  gateway.become(vpn(1, [member(1, 2)]));
  await pass();

  t.deepEqual([members.length, order], [0, []]);
});

test('a cluster that is not owned any more is left in the next round', async (t) => {
  const { gateway, owned, members, pass } = fixture(t);
  owned.set(clusterId(1), 1).set(clusterId(2), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  gateway.become(vpn(2, [member(2, 2)]));
  await pass(20);

  owned.delete(clusterId(1));
  await pass(GATEWAY_ROUND_MS);

  t.deepEqual(members[0]?.wanted.at(-1)?.addresses, ['100.64.2.1/24', 'fd00:0:0:2::1/64']);
  t.deepEqual([...(members[0]?.wanted.at(-1)?.peers.keys() ?? [])], [key(514)]);
});

test('members are told where the gateway is, once, and again under each epoch and from each place', async (t) => {
  const { gateway, owned, stored, members, pass } = fixture(t, { host: '203.0.113.9' });
  const place = {
    publicKey: OWN,
    listenPort: 51_820,
    endpoints: ['203.0.113.9:51820', '203.0.113.1:51820'],
    relayRegion: 900,
  };
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  await pass(20);
  t.deepEqual(stored, [{ cluster: clusterId(1), epoch: 1, place }]);

  gateway.become(
    vpn(1, [
      member(1, 2),
      member(1, 1, { node: null, public_key: OWN, endpoints: place.endpoints, relay_region: 900 }),
    ]),
  );
  await pass();
  await pass(60_000);
  t.is(stored.length, 1);

  owned.set(clusterId(1), 2);
  await pass();
  t.deepEqual(stored.at(-1), { cluster: clusterId(1), epoch: 2, place });

  const [one] = members;
  if (one === undefined) throw new Error('no interface');
  one.say.place = { ...one.say.place, relayRegion: 901 };
  one.ports.moved(one.say.place);
  await pass(20);
  t.deepEqual(stored.at(-1), { cluster: clusterId(1), epoch: 2, place: { ...place, relayRegion: 901 } });
});

test('where the gateway is comes to the rows also after the database was away', async (t) => {
  const { gateway, owned, stored, made, pass } = fixture(t);
  owned.set(clusterId(1), 1);
  made.database = false;
  gateway.become(vpn(1, [member(1, 2)]));
  await pass(20);

  made.database = true;
  await pass();

  t.is(stored.length, 1);
});

test('an admin without rights reports that once, retries silently, and clears a gateway stored by another admin', async (t) => {
  const { gateway, owned, members, stored, lines, made, pass } = fixture(t, { refused: 'it is not root' });
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2), member(1, 1, { node: null, public_key: key(9) })]));
  await pass(20);
  await pass(300_000);

  t.is(lines().length, 1);
  t.deepEqual(gateway.state(), { isHere: false, problem: 'it is not root', note: null });
  t.is(gateway.readings(), null);
  t.deepEqual(stored[0], { cluster: clusterId(1), epoch: 1, place: null });

  made.refused = undefined;
  await pass(300_000);
  t.is(members.length, 1);
  t.deepEqual(gateway.state(), { isHere: true, problem: null, note: null });
});

test('without a firewall there is no interface', async (t) => {
  const { gateway, owned, members, pass, lines } = fixture(t, { firewallProblem: 'there is no nft' });
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  await pass(20);

  t.is(members.length, 0);
  t.is(lines().length, 1);
});

test('a gateway whose firewall cannot be put up any more is closed within 10 s and says so, and is back once it can be', async (t) => {
  const { gateway, owned, members, made, stored, firewalls, log, order, pass } = fixture(t);
  owned.set(clusterId(1), 1);
  gateway.become({ ...vpn(1, [member(1, 2, { ipv4: '127.78.1.2' })]), ipv4Range: '127.78.1.0/24' });
  await pass(20);
  await until('the listener', async () => {
    await pass();
    return firewalls.at(-1)?.length === 1;
  });
  const { ipv4 = '', port = 0 } = firewalls.at(-1)?.[0] ?? {};
  // a listener ends what says nothing for long with a 408, which has to be read for the connection to end
  const inside = connect(port, ipv4)
    .on('error', () => {})
    .resume();
  await once(inside, 'connect');
  const rounds = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += GATEWAY_ROUND_MS) await pass();
  };

  made.firewallProblem = 'nft fails';
  await rounds(10_000);

  t.true(members[0]?.isClosed);
  await until('the end of what came in', () => inside.closed);
  t.is(stored.at(-1)?.place, null);
  t.deepEqual(gateway.state(), { isHere: false, problem: 'nft fails', note: null });
  t.is(log.lines.filter(({ level }) => level === 'error').length, 1);
  await rounds(60_000);
  t.deepEqual([members.length, log.lines.filter(({ level }) => level !== 'info').length], [1, 1], 'and no more of it');

  made.firewallProblem = null;
  await rounds(31_000);

  t.deepEqual([members.length, order.at(order.lastIndexOf('interface') - 1)], [2, 'firewall']);
  t.like(gateway.state(), { isHere: true, problem: null });
  t.not(stored.at(-1)?.place, null);
});

test('a gateway whose rules for listeners alone fail is opened ever more rarely, and says so once until it has stood', async (t) => {
  const { gateway, clock, owned, members, made, log, pass } = fixture(t);
  const errors = () => log.lines.filter(({ level }) => level === 'error').length;
  const passUntil = async (isSo: () => boolean): Promise<void> => {
    for (let passedMs = 0; !isSo() && passedMs < 2 * FIREWALL_AGAIN_MS_MAX; passedMs += 2_000) await pass(2_000);
  };
  const waitS = async (): Promise<number> => {
    const opened = members.length;
    await passUntil(() => members.at(-1)?.isClosed === true);
    const leftAtMs = clock.nowMs();
    await passUntil(() => members.length > opened);
    return Math.round((clock.nowMs() - leftAtMs) / 10_000) * 10;
  };
  owned.set(clusterId(1), 1);
  made.listenersProblem = 'nft fails';
  gateway.become({ ...vpn(1, [member(1, 2, { ipv4: '127.78.2.2' })]), ipv4Range: '127.78.2.0/24' });
  await pass(20);

  const waits = [];
  for (let times = 0; times < 8; times += 1) waits.push(await waitS());
  t.deepEqual(waits, [30, 60, 120, 240, 480, 960, FIREWALL_AGAIN_MS_MAX / 1_000, FIREWALL_AGAIN_MS_MAX / 1_000]);
  t.is(errors(), 1);

  made.listenersProblem = null;
  for (let times = 0; times < 20; times += 1) await pass(FIREWALL_AGAIN_MS_MAX / 10);
  made.listenersProblem = 'nft fails';
  t.is(await waitS(), 30);
  t.is(errors(), 2);
});

test('a gateway whose interface cannot be removed is left all the same, and opened again once it is', async (t) => {
  const { gateway, owned, members, made, stored, firewalls, order, log, pass } = fixture(t);
  owned.set(clusterId(1), 1);
  gateway.become({ ...vpn(1, [member(1, 2, { ipv4: '127.78.3.2' })]), ipv4Range: '127.78.3.0/24' });
  await pass(20);
  await until('the listener', async () => {
    await pass();
    return firewalls.at(-1)?.length === 1;
  });
  const { ipv4 = '', port = 0 } = firewalls.at(-1)?.[0] ?? {};
  // a listener ends what says nothing for long with a 408, which has to be read for the connection to end
  const inside = connect(port, ipv4)
    .on('error', () => {})
    .resume();
  await once(inside, 'connect');
  const [one] = members;
  if (one === undefined) throw new Error('no interface');
  let tries = 0;
  let isStuck = true;
  one.close = async () => {
    tries += 1;
    if (isStuck) throw new Error('ip link del fails');
  };

  made.firewallProblem = 'nft fails';
  await until('a try to remove it', async () => {
    await pass();
    return tries > 0;
  });
  await until('the end of what came in', () => inside.closed);
  t.is(stored.at(-1)?.place, null);
  t.deepEqual(gateway.state(), { isHere: false, problem: 'nft fails', note: null });
  made.firewallProblem = null;
  for (let passedMs = 0; passedMs < 60_000; passedMs += 5_000) await pass(5_000);
  t.deepEqual([tries > 10, members.length, order.includes('no firewall')], [true, 1, false]);
  const isTold = (told: string) => log.lines.filter(({ message }) => message.includes(told)).length;
  t.deepEqual([isTold('leaves the VPNs'), isTold('cannot be removed')], [1, 1]);

  isStuck = false;
  await pass(5_000);
  await pass();

  const from = order.indexOf('no firewall');
  t.deepEqual([members.length, order.slice(from, from + 3)], [2, ['no firewall', 'firewall', 'interface']]);
  t.not(stored.at(-1)?.place, null);
});

test('a firewall that fails for a moment costs no gateway', async (t) => {
  const { gateway, owned, members, made, pass } = fixture(t);
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  await pass(20);

  for (let times = 0; times < 10; times += 1) {
    made.firewallProblem = 'nft took too long';
    await pass(6_000); // one round that has to set them anew
    await pass();
    await pass();
    made.firewallProblem = null;
    await pass();
  }

  made.firewallProblem = 'nft took too long';
  made.timeoutsMs = [4_000];
  await pass(6_000);
  made.firewallProblem = null;
  await pass();

  made.timeoutsMs = [5_000, 5_000, 5_000];
  await pass(6_000);
  await until('rules that stand', async () => {
    await pass();
    return made.timeoutsMs.length === 0;
  });

  t.deepEqual([members.length, members[0]?.isClosed], [1, false]);
});

test('a gateway that is switched off opens nothing and has no problem', async (t) => {
  const { gateway, owned, order, pass } = fixture(t, { isEnabled: false });
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  await pass();

  t.deepEqual(order, []);
  t.deepEqual(gateway.state(), { isHere: false, problem: null, note: null });
});

test('a gateway that is closed leaves no interface and no rules', async (t) => {
  const { gateway, owned, members, order, pass } = fixture(t);
  owned.set(clusterId(1), 1);
  gateway.become(vpn(1, [member(1, 2)]));
  await pass(20);

  await gateway.close();

  t.true(members[0]?.isClosed);
  t.is(order.at(-1), 'no firewall');
});
