/** Which members of a VPN a cluster tells of whom. */
import test from 'ava';
import { VPN_PEERS_MAX } from '../../../../transport/protocol/vpn.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { EPOCH, node, key, member, GATEWAY, Listening } from './vpn-fixture.ts';
import { column } from '../../../support/database/columns.ts';

test('a row that no interface takes reaches no member, its machine gets the reason, and other changes go on', (t) => {
  const bad = member(2, { publicKey: `_${key(2).slice(1)}` });
  const reason = 'This machine is left out of the VPN of its cluster: its WireGuard key is none';
  const cluster = new Listening()
    .read([member(1), bad, member(3)])
    .wants(1)
    .wants(2)
    .wants(3);
  const warnings = (): readonly string[] =>
    cluster.effects.flatMap((effect) => (effect.type === 'warn' ? [String(effect.fields['problem'])] : []));

  cluster.read([member(1), bad]);
  t.deepEqual(
    [cluster.told(2), column(cluster.told(1), 'type'), warnings()],
    [[{ type: 'mesh-refused', reason }], ['mesh-changed'], []],
  );
  t.like(cluster.told(1)[0], { set: [], removed: [key(3)] });
  t.like(
    cluster.effects.find((effect) => effect.type === 'gateway'),
    { vpn: { leftOut: [{ node: node(2), reason: 'its WireGuard key is none' }] } },
  );

  cluster.read([member(1), bad, member(4, { ipv4: '100.64.0.400' })]);
  t.deepEqual([cluster.told(1).length, warnings().length], [0, 1]);
  cluster.read([member(1), bad, member(4, { ipv4: '100.64.0.400' })]);
  t.deepEqual([cluster.told(1), warnings()], [[], []]);

  cluster.read([member(1), member(2)]);
  t.deepEqual(column(cluster.told(2), 'type'), ['mesh-network']);
  t.like(cluster.told(1)[0], { type: 'mesh-changed', set: [{ node: node(2) }] });
});

test('a member that comes is told the whole VPN, without itself', (t) => {
  const cluster = new Listening()
    .read([member(1), member(2, { observed: '203.0.113.2:4000', aliases: ['web'] })], GATEWAY)
    .wants(1);

  t.deepEqual(cluster.told(1), [
    {
      type: 'mesh-network',
      revision: { epoch: EPOCH, number: NOW_MS },
      network: {
        cluster_name: 'factory',
        domain: 'factory.edge.test',
        public_key: key(1),
        ipv4: '100.64.0.2',
        ipv6: 'fd00::2',
        ipv4_range: '100.64.0.0/24',
        ipv6_range: 'fd00::/64',
        mtu: 1_280,
        aliases: [],
      },
      peers: [
        {
          node: null,
          public_key: key(0),
          ipv4: '100.64.0.1',
          ipv6: 'fd00::1',
          endpoints: ['203.0.113.1:51820'],
          relay_region: null,
          aliases: [],
        },
        {
          node: node(2),
          public_key: key(2),
          ipv4: '100.64.0.3',
          ipv6: 'fd00::3',
          endpoints: ['192.168.0.2:51820', '203.0.113.2:4000'],
          relay_region: 900,
          aliases: ['web'],
        },
      ],
    },
  ]);
});

test('a change is one frame to each member that listens, and nothing to the others', (t) => {
  const cluster = new Listening()
    .read([member(1), member(2), member(3)])
    .wants(1)
    .wants(2);
  const from = cluster.revision;

  cluster.read([member(1), member(2), member(3), member(4)]);

  const to = { epoch: EPOCH, number: from.number + 1 };
  for (const number of [1, 2])
    t.deepEqual(
      cluster
        .told(number)
        .map(
          (body) =>
            body.type === 'mesh-changed' && [body.from, body.to, body.set.map((peer) => peer.node), body.removed],
        ),
      [[from, to, [node(4)], []]],
    );
  t.deepEqual([cluster.told(3), cluster.told(4)], [[], []]);
});

test('rows that say nothing new are told to nobody, and change nothing', (t) => {
  const cluster = new Listening().read([member(1), member(2)]).wants(1);
  const { state } = cluster;

  cluster.read([member(1), member(2)]);

  t.is(cluster.state, state);
  t.deepEqual(cluster.effects, []);
});

test('a member whose own place changed is told the whole VPN: a new key, or an address', (t) => {
  const cluster = new Listening()
    .read([member(1), member(2)])
    .wants(1)
    .wants(2);

  cluster.read([member(1, { publicKey: key(1, 1) }), member(2)]);

  t.deepEqual(
    cluster.told(1).map((body) => body.type === 'mesh-network' && body.network.public_key),
    [key(1, 1)],
  );
  t.deepEqual(
    cluster
      .told(2)
      .map((body) => body.type === 'mesh-changed' && [body.set.map((peer) => peer.public_key), body.removed]),
    [[[key(1, 1)], [key(1)]]],
  );
});

test('one that left is told nothing any more', (t) => {
  const cluster = new Listening()
    .read([member(1), member(2)])
    .wants(1)
    .wants(2);

  cluster.read([member(1)]);
  t.deepEqual(cluster.told(2), []);
  t.false(cluster.state.vpn.listeners.has(node(2)));
});

test('of more members than a frame holds the last are left out, never the gateway', (t) => {
  const many = Array.from({ length: VPN_PEERS_MAX + 5 }, (_none, index) => member(index + 1));
  const cluster = new Listening().read(many, GATEWAY).wants(1);

  const [body] = cluster.told(1);
  t.is(body?.type === 'mesh-network' && body.peers.length, VPN_PEERS_MAX - 1);
  t.is(body?.type === 'mesh-network' && body.peers[0]?.node, null);
});

test('members beyond what a frame holds learn why, once for each request, and get the VPN once there is room', (t) => {
  const many = Array.from({ length: VPN_PEERS_MAX + 2 }, (_none, index) => member(index + 1));
  const [beyond, last] = [VPN_PEERS_MAX + 1, VPN_PEERS_MAX + 2];
  const reason = `This machine is left out of the VPN of its cluster: a VPN has at most ${VPN_PEERS_MAX} members`;
  const cluster = new Listening().read(many).wants(beyond);
  t.deepEqual(cluster.effects, [{ type: 'read-vpn' }]);

  cluster.read(many);
  t.deepEqual([cluster.told(beyond), cluster.told(last)], [[{ type: 'mesh-refused', reason }], []]);
  cluster.read(many.with(0, member(1, { aliases: ['web'] })));
  t.deepEqual(cluster.told(beyond), []);

  cluster.read(many.slice(1));
  t.deepEqual(column(cluster.told(beyond), 'type'), ['mesh-network']);
  cluster.read(many);
  t.deepEqual(cluster.told(beyond), [{ type: 'mesh-refused', reason }]);
});

test('a member beyond what a frame holds learns why, even if the first read after its request lacks its row', (t) => {
  const many = Array.from({ length: VPN_PEERS_MAX + 1 }, (_none, index) => member(index + 1));
  const beyond = VPN_PEERS_MAX + 1;
  const cluster = new Listening().read(many.slice(0, -1)).wants(beyond);

  cluster.read(many.slice(0, -1).with(0, member(1, { aliases: ['web'] })));
  t.deepEqual(cluster.told(beyond), []);
  cluster.read(many);
  t.deepEqual(column(cluster.told(beyond), 'type'), ['mesh-refused']);
  cluster.read(many);
  t.deepEqual([cluster.told(beyond), cluster.state.vpn.asking.size], [[], 0]);

  cluster.read(many.slice(0, -1));
  t.false(cluster.state.vpn.listeners.has(node(beyond)), 'it has left');
});

test('a member that was left out for others is told the VPN when there is room again', (t) => {
  const many = Array.from({ length: VPN_PEERS_MAX + 1 }, (_none, index) => member(index + 1));
  const last = VPN_PEERS_MAX + 1;
  const cluster = new Listening().read(many.slice(1)).wants(last).read(many);
  t.deepEqual(column(cluster.told(last), 'type'), ['mesh-refused']);

  cluster.read(many.slice(1));

  t.deepEqual(column(cluster.told(last), 'type'), ['mesh-network']);
});

test('members beyond what a frame holds do not change the VPN: the gateway gets each of them, the log the first four', (t) => {
  const many = Array.from({ length: VPN_PEERS_MAX + 9 }, (_none, index) => member(index + 1));
  const [full, beyond] = [many.slice(0, VPN_PEERS_MAX), many.slice(VPN_PEERS_MAX)];
  const cluster = new Listening().read(full).wants(1);
  const { revision } = cluster;

  const types = [0, 1, 2, 3, 4, 5, 9, 8].map((count) => {
    cluster.read([...full, ...beyond.slice(0, count)]);
    return cluster.effects.map((effect) =>
      effect.type === 'gateway' ? `gateway ${effect.vpn.leftOut.length}` : effect.type,
    );
  });

  t.deepEqual(types, [
    [],
    ['warn', 'gateway 1'],
    ['warn', 'gateway 2'],
    ['warn', 'gateway 3'],
    ['warn', 'gateway 4'],
    ['gateway 5'],
    ['gateway 9'],
    ['gateway 8'],
  ]);
  t.deepEqual([cluster.revision, cluster.state.vpn.changes], [revision, []]);
});

test('both sides of a pair are told to try at the same time, and only they', (t) => {
  const cluster = new Listening().read([member(1), member(2), member(3)], GATEWAY);

  cluster.say({ type: 'direct-wanted', node: node(1), publicKey: key(2) });
  t.deepEqual(
    [cluster.told(1), cluster.told(2), cluster.told(3)],
    [
      [{ type: 'mesh-try', public_key: key(2), in_ms: 250 }],
      [{ type: 'mesh-try', public_key: key(1), in_ms: 250 }],
      [],
    ],
  );

  cluster.say({ type: 'direct-wanted', node: node(1), publicKey: key(0) });
  t.is(cluster.effects.length, 1);
});

test('a member that wants a path to what is no peer of its own is told nothing, and the log has it', (t) => {
  const cluster = new Listening().read([member(1)]);

  for (const [asking, asked] of [
    [1, 9],
    [9, 1],
  ] as const) {
    cluster.nowMs += 10_000;
    cluster.say({ type: 'direct-wanted', node: node(asking), publicKey: key(asked) });
    t.deepEqual(cluster.effects, [
      { type: 'warn', message: 'a node wants a path to what is no peer of its own', fields: { node: node(asking) } },
    ]);
    cluster.say({ type: 'direct-wanted', node: node(asking), publicKey: key(asked) });
    t.deepEqual(cluster.effects, [], 'the log is not filled');
  }
});

test('a member that says it has the key of the gateway does not take its place', (t) => {
  const cluster = new Listening().read([member(1), member(2, { publicKey: GATEWAY.publicKey })], GATEWAY).wants(1);

  const [body] = cluster.told(1);

  t.deepEqual(body?.type === 'mesh-network' && body.peers.map((peer) => [peer.node, peer.public_key, peer.ipv4]), [
    [null, GATEWAY.publicKey, GATEWAY.ipv4],
  ]);
});
