/** What a cluster tells its members of each other. */
import test from 'ava';
import * as fc from 'fast-check';
import { VPN_CHANGES_MAX } from '../../../../actors/cluster/vpn.ts';
import { NO_VPN, type ClusterState } from '../../../../actors/cluster/state.ts';
import type { ClusterMessage } from '../../../../actors/cluster/messages.ts';
import { clusterBehaviour } from '../../../../actors/cluster/transition.ts';
import type { Effect } from '../../../../actors/step.ts';
import type { VpnBody } from '../../../../actors/node/messages.ts';
import type { VpnMemberRecord } from '../../../../actors/records.ts';
import { changedPicture, wholePicture, type Picture } from '../../../../agent/vpn/picture.ts';
import { VPN_PEERS_MAX, type VpnRevision } from '../../../../transport/protocol/vpn.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { CLUSTER, clusterRecord, id, NOW_MS, SETTINGS } from '../../../support/actors.ts';

const behaviour = clusterBehaviour(SETTINGS);
const EPOCH = 3;

function node(number: number): NodeId {
  return id<NodeId>('b', number);
}

/** A key that is as good as one. */
function key(number: number, version = 0): string {
  return Buffer.from(`${version}-${number}`.padEnd(32, 'k')).toString('base64');
}

function member(number: number, more: Partial<VpnMemberRecord> = {}): VpnMemberRecord {
  return {
    node: node(number),
    ipv4: `100.64.${(number + 1) >> 8}.${(number + 1) & 0xff}`,
    ipv6: `fd00::${number + 1}`,
    publicKey: key(number),
    listenPort: 51_820,
    endpoints: [`192.168.0.${number}:51820`],
    observed: null,
    isStable: null,
    relayRegion: 900,
    aliases: [],
    ...more,
  };
}

const GATEWAY = {
  ipv4: '100.64.0.1',
  ipv6: 'fd00::1',
  publicKey: key(0),
  listenPort: 51_820,
  endpoints: ['203.0.113.1:51820'],
  relayRegion: null,
};

/** A cluster that hears one message after another, and what each member was told. */
class Listening {
  state: ClusterState = { id: CLUSTER, record: clusterRecord(), vpn: NO_VPN };
  effects: Effect[] = [];
  nowMs = NOW_MS;
  number = 0;

  say(message: ClusterMessage): this {
    const { state, effects } = behaviour.transition(this.state, message, this.nowMs);
    this.state = state;
    this.effects = [...effects];
    return this;
  }

  read(members: readonly VpnMemberRecord[], gateway: typeof GATEWAY | null = null, epoch = EPOCH): this {
    this.number = Math.max(this.number + 1, this.nowMs);
    return this.say({ type: 'mesh-read', epoch, number: this.number, reading: { cluster: CLUSTER, members, gateway } });
  }

  wants(number: number, revision: VpnRevision | null = null): this {
    return this.say({ type: 'mesh-wanted', node: node(number), revision });
  }

  /** Frames to this member by the last message. */
  told(number: number): readonly VpnBody[] {
    return this.effects.flatMap((effect) =>
      effect.type === 'tell' && effect.told.message.type === 'mesh-told' && effect.told.to.id === node(number)
        ? [effect.told.message.body]
        : [],
    );
  }

  get revision(): VpnRevision {
    return this.state.vpn.revision ?? { epoch: 0, number: 0 };
  }
}

/** What a member makes of frames. */
function learned(known: Picture | null, bodies: readonly VpnBody[]): Picture | null {
  return bodies.reduce((picture: Picture | null, body) => {
    if (body.type === 'mesh-network') return wholePicture({ seq: 1, ...body });
    return body.type === 'mesh-changed' ? changedPicture(picture, { seq: 1, ...body }) : picture;
  }, known);
}

test('a row that no interface would take is told to nobody, its machine hears why, and changes beside it are told as ever', (t) => {
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
    [cluster.told(2), cluster.told(1).map(({ type }) => type), warnings()],
    [[{ type: 'mesh-refused', reason }], ['mesh-changed'], []],
  );
  t.like(cluster.told(1)[0], { set: [], removed: [key(3)] });
  t.like(
    cluster.effects.find((effect) => effect.type === 'gateway'),
    { vpn: { leftOut: [{ node: node(2), reason: 'its WireGuard key is none' }] } },
  );

  cluster.read([member(1), bad, member(4, { ipv4: '100.64.0.400' })]);
  t.deepEqual([cluster.told(1).length, warnings().length], [1, 1]);
  cluster.read([member(1), bad, member(4, { ipv4: '100.64.0.400' })]);
  t.deepEqual([cluster.told(1), warnings()], [[], []]);

  cluster.read([member(1), member(2)]);
  t.deepEqual(
    cluster.told(2).map(({ type }) => type),
    ['mesh-network'],
  );
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

test('a member that comes before its row was read waits for it, and is told then', (t) => {
  const cluster = new Listening().read([member(1)]).wants(2);
  t.deepEqual(cluster.effects, [{ type: 'read-vpn' }]);

  cluster.read([member(1), member(2)]);

  t.deepEqual(
    cluster.told(2).map((body) => body.type),
    ['mesh-network'],
  );
});

test('a member that was away for some changes is told these, one that has the present state nothing, and one of another epoch everything', (t) => {
  const cluster = new Listening().read([member(1), member(2)]);
  const held = cluster.revision;
  cluster.read([member(1), member(2), member(3)]).read([member(1), member(3)]);

  t.deepEqual(
    cluster
      .wants(1, held)
      .told(1)
      .map((body) => body.type),
    ['mesh-changed', 'mesh-changed'],
  );
  t.deepEqual(cluster.wants(1, cluster.revision).told(1), []);
  t.deepEqual(
    cluster
      .wants(1, { ...held, epoch: EPOCH - 1 })
      .told(1)
      .map((body) => body.type),
    ['mesh-network'],
  );
});

test(`of more than ${VPN_CHANGES_MAX} changes the oldest are forgotten: who missed them is told everything`, (t) => {
  const cluster = new Listening().read([member(1)]);
  const held = cluster.revision;
  for (let round = 0; round <= VPN_CHANGES_MAX; round += 1) cluster.read([member(1, { aliases: [`a${round}`] })]);

  t.is(cluster.state.vpn.changes.length, VPN_CHANGES_MAX);
  t.deepEqual(
    cluster
      .wants(1, held)
      .told(1)
      .map((body) => body.type),
    ['mesh-network'],
  );
});

test('a new owner, and an actor that crashed, count on from where nobody has been', (t) => {
  const before = new Listening().read([member(1), member(2)]).read([member(1)]);
  const after = new Listening();
  after.nowMs = NOW_MS + 60_000;
  after.read([member(1)]);

  t.true(after.revision.number > before.revision.number);
  t.deepEqual(
    after
      .wants(1, before.revision)
      .told(1)
      .map((body) => body.type),
    ['mesh-network'],
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

test('whatever joins, leaves and changes, and whoever is away meanwhile, each member has exactly the VPN of the rows in the end', (t) => {
  const change = fc.record({
    number: fc.integer({ min: 1, max: 6 }),
    what: fc.constantFrom('join', 'leave', 'rotate', 'alias', 'away', 'back', 'own', 'gateway'),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const cluster = new Listening().read([]);
      const rows = new Map<number, VpnMemberRecord>();
      const pictures = new Map<number, Picture | null>();
      let epoch = EPOCH;
      let gateway: typeof GATEWAY | null = null;
      const hear = (): void => {
        for (const [number, picture] of pictures) {
          const bodies = cluster.told(number);
          if (bodies.length > 0) pictures.set(number, learned(picture, bodies));
        }
      };
      const away = new Map<number, Picture | null>();
      for (const { number, what } of changes) {
        if (what === 'join') rows.set(number, member(number));
        if (what === 'leave') {
          rows.delete(number);
          pictures.delete(number);
        }
        const row = rows.get(number);
        if (what === 'rotate' && row)
          rows.set(number, {
            ...row,
            publicKey: key(number, changes.length + rows.size + Math.round(Number(row.publicKey === key(number)))),
          });
        if (what === 'alias' && row) rows.set(number, { ...row, aliases: [...row.aliases, 'more'].slice(-3) });
        if (what === 'away') {
          away.set(number, pictures.get(number) ?? null);
          pictures.delete(number);
        }
        if (what === 'own') epoch += 1;
        if (what === 'gateway') gateway = gateway === null ? GATEWAY : null;
        cluster.nowMs += 1_000;
        cluster.read([...rows.values()], gateway, epoch);
        hear();
        if ((what === 'back' || what === 'join') && rows.has(number) && !pictures.has(number)) {
          pictures.set(number, away.get(number) ?? null);
          cluster.wants(number, pictures.get(number)?.revision ?? null);
          hear();
        }
      }
      for (const [number, picture] of pictures) {
        const wanted = [...rows.values()].filter((row) => row.node !== node(number)).map((row) => row.publicKey);
        t.deepEqual(
          [...(picture?.peers.keys() ?? [])].toSorted(),
          [...wanted, ...(gateway === null ? [] : [key(0)])].toSorted(),
        );
        t.is(picture?.network.public_key, rows.get(number)?.publicKey);
        t.deepEqual(picture?.revision, cluster.revision);
      }
    }),
    { numRuns: 200 },
  );
  t.pass();
});

test('a member that says it has the key of the gateway does not take its place', (t) => {
  const cluster = new Listening().read([member(1), member(2, { publicKey: GATEWAY.publicKey })], GATEWAY).wants(1);

  const [body] = cluster.told(1);

  t.deepEqual(body?.type === 'mesh-network' && body.peers.map((peer) => [peer.node, peer.public_key, peer.ipv4]), [
    [null, GATEWAY.publicKey, GATEWAY.ipv4],
  ]);
});
