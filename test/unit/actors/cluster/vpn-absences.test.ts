/** What a cluster tells members that were away, and what an owner does that comes new. */
import test from 'ava';
import * as fc from 'fast-check';
import { NO_VPN } from '../../../../actors/cluster/state.ts';
import { VPN_CHANGES_MAX } from '../../../../actors/cluster/vpn.ts';
import type { VpnBody } from '../../../../actors/node/messages.ts';
import type { VpnMemberRecord } from '../../../../actors/records.ts';
import { changedNetworkMap, fullNetworkMap, type NetworkMap } from '../../../../agent/vpn/network-map.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { EPOCH, node, key, member, GATEWAY, Listening } from './vpn-fixture.ts';
import { column } from '../../../support/database/columns.ts';

/** What a member makes of frames. */
function learned(known: NetworkMap | null, bodies: readonly VpnBody[]): NetworkMap | null {
  return bodies.reduce((networkMap: NetworkMap | null, body) => {
    if (body.type === 'mesh-network') return fullNetworkMap({ seq: 1, ...body });
    return body.type === 'mesh-changed' ? changedNetworkMap(networkMap, { seq: 1, ...body }) : networkMap;
  }, known);
}

test('a member that comes before its row was read waits for it, and is told then', (t) => {
  const cluster = new Listening().read([member(1)]).wants(2);
  t.deepEqual(cluster.effects, [{ type: 'read-vpn' }]);

  cluster.read([member(1), member(2)]);

  t.deepEqual(column(cluster.told(2), 'type'), ['mesh-network']);
});

test('a member back from an absence gets the changes it missed, nothing if current, and all of it from another epoch', (t) => {
  const cluster = new Listening().read([member(1), member(2)]);
  const held = cluster.revision;
  cluster.read([member(1), member(2), member(3)]).read([member(1), member(3)]);

  t.deepEqual(column(cluster.wants(1, held).told(1), 'type'), ['mesh-changed', 'mesh-changed']);
  t.deepEqual(cluster.wants(1, cluster.revision).told(1), []);
  t.deepEqual(column(cluster.wants(1, { ...held, epoch: EPOCH - 1 }).told(1), 'type'), ['mesh-network']);
});

test(`of more than ${VPN_CHANGES_MAX} changes the oldest are forgotten: who missed them is told everything`, (t) => {
  const cluster = new Listening().read([member(1)]);
  const held = cluster.revision;
  for (let round = 0; round <= VPN_CHANGES_MAX; round += 1) cluster.read([member(1, { aliases: [`a${round}`] })]);

  t.is(cluster.state.vpn.changes.length, VPN_CHANGES_MAX);
  t.deepEqual(column(cluster.wants(1, held).told(1), 'type'), ['mesh-network']);
});

test('a new owner, and an actor that crashed, count on from where nobody has been', (t) => {
  const before = new Listening().read([member(1), member(2)]).read([member(1)]);
  const after = new Listening();
  after.nowMs = NOW_MS + 60_000;
  after.read([member(1)]);

  t.true(after.revision.number > before.revision.number);
  t.deepEqual(column(after.wants(1, before.revision).told(1), 'type'), ['mesh-network']);
});

test('after a crash of its actor each member that is connected hears that it may miss something, and asks for it (R4)', (t) => {
  const cluster = new Listening()
    .read([member(1), member(2), member(3)])
    .wants(1)
    .wants(2);
  const held = learned(null, cluster.told(2));
  cluster.state = { ...cluster.state, vpn: NO_VPN };
  cluster.nowMs += 1_000;

  cluster.read([member(1), member(2)]);

  t.deepEqual(learned(held, cluster.told(2)), null, 'what it holds is not what the change follows');
  t.deepEqual(cluster.told(1), cluster.told(2));
  const now = learned(held, cluster.wants(2, held?.revision).told(2));
  t.deepEqual([...(now?.peers.keys() ?? [])], [key(1)]);
  cluster.read([member(1), member(2), member(3)]);
  t.deepEqual([column(cluster.told(1), 'type'), column(cluster.told(2), 'type')], [[], ['mesh-changed']]);
});

test('a path that is wanted before the rows were read has them read, and nobody is warned of a stranger', (t) => {
  const cluster = new Listening().say({ type: 'direct-wanted', node: node(1), publicKey: key(2) });

  t.deepEqual(cluster.effects, [{ type: 'read-vpn' }]);
});

test('whatever joins, leaves, changes or is away, each member ends with exactly the VPN of the rows', (t) => {
  const change = fc.record({
    number: fc.integer({ min: 1, max: 6 }),
    what: fc.constantFrom('join', 'leave', 'rotate', 'alias', 'away', 'back', 'own', 'gateway', 'crash'),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const cluster = new Listening().read([]);
      const rows = new Map<number, VpnMemberRecord>();
      const networkMaps = new Map<number, NetworkMap | null>();
      let epoch = EPOCH;
      let gateway: typeof GATEWAY | null = null;
      const hear = (): void => {
        const told = new Map([...networkMaps.keys()].map((number) => [number, cluster.told(number)]));
        for (const [number, networkMap] of networkMaps) {
          const bodies = told.get(number) ?? [];
          if (bodies.length === 0) continue;
          const next = learned(networkMap, bodies);
          networkMaps.set(number, next ?? learned(null, cluster.wants(number, networkMap?.revision).told(number)));
        }
      };
      const away = new Map<number, NetworkMap | null>();
      for (const { number, what } of changes) {
        if (what === 'join') rows.set(number, member(number));
        if (what === 'leave') {
          rows.delete(number);
          networkMaps.delete(number);
        }
        const row = rows.get(number);
        if (what === 'rotate' && row)
          rows.set(number, {
            ...row,
            publicKey: key(number, changes.length + rows.size + Math.round(Number(row.publicKey === key(number)))),
          });
        if (what === 'alias' && row) rows.set(number, { ...row, aliases: [...row.aliases, 'more'].slice(-3) });
        if (what === 'away') {
          away.set(number, networkMaps.get(number) ?? null);
          networkMaps.delete(number);
        }
        if (what === 'own') epoch += 1;
        if (what === 'crash') cluster.state = { ...cluster.state, vpn: NO_VPN };
        if (what === 'gateway') gateway = gateway === null ? GATEWAY : null;
        cluster.nowMs += 1_000;
        cluster.read([...rows.values()], gateway, epoch);
        hear();
        if ((what === 'back' || what === 'join') && rows.has(number) && !networkMaps.has(number)) {
          networkMaps.set(number, away.get(number) ?? null);
          cluster.wants(number, networkMaps.get(number)?.revision ?? null);
          hear();
        }
      }
      for (const [number, networkMap] of networkMaps) {
        const wanted = [...rows.values()].filter((row) => row.node !== node(number)).map((row) => row.publicKey);
        t.deepEqual(
          [...(networkMap?.peers.keys() ?? [])].toSorted(),
          [...wanted, ...(gateway === null ? [] : [key(0)])].toSorted(),
        );
        t.is(networkMap?.network.public_key, rows.get(number)?.publicKey);
        t.deepEqual(networkMap?.revision, cluster.revision);
      }
    }),
    { numRuns: 200 },
  );
  t.pass();
});
