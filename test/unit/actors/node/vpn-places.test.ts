/** Where a node is in the VPN: what is believed of it, stored and told. */
import test from 'ava';
import { NEW_VPN_SESSION } from '../../../../actors/node/vpn-state.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import type { VpnPlace } from '../../../../actors/records.ts';
import type { VpnAdvertisement } from '../../../../transport/protocol/vpn.ts';
import {
  CLUSTER,
  liveNode,
  NODE,
  nodeState,
  NOW_MS,
  OTHER_CLUSTER,
  session,
  SETTINGS,
} from '../../../support/actors.ts';
import { KEY, OTHER_KEY, SAID } from './vpn-fixture.ts';
import { say } from './fixture.ts';
import { writesOf } from '../../../support/steps.ts';

const PLACE: VpnPlace = {
  publicKey: KEY,
  listenPort: 51_820,
  endpoints: ['192.168.1.20:51820'],
  observed: null,
  isStable: null,
  relayRegion: 900,
};

function advertise(state: NodeState, more: Partial<VpnAdvertisement> = {}, from: string | null = '203.0.113.9') {
  return say(state, { type: 'vpn-advertised', session: session(1), advertisement: { ...SAID, ...more }, from });
}

const WANTED = {
  type: 'tell',
  told: {
    to: { kind: 'cluster', id: CLUSTER },
    message: { type: 'vpn-wanted', node: NODE, revision: { epoch: 2, number: 7 } },
  },
} as const;

test('what an agent says of itself is stored before its cluster tells it anything', (t) => {
  const { state, changes, effects } = advertise(liveNode());

  t.deepEqual(changes, [
    {
      write: { kind: 'vpn-member-set', node: NODE, cluster: CLUSTER, place: PLACE, atMs: NOW_MS },
      events: [],
      notices: [],
      onceStored: [WANTED],
    },
  ]);
  t.deepEqual(effects, []);
  t.deepEqual(state.vpn, PLACE);
});

test('an agent that says what is known already is told what it misses, and nothing is written', (t) => {
  const { changes, effects } = advertise(liveNode([], { vpn: PLACE }));

  t.deepEqual([changes, effects], [[], [WANTED]]);
});

test('news of an older session is ignored', (t) => {
  const state = liveNode();

  const {
    state: after,
    changes,
    effects,
  } = say(state, { type: 'vpn-advertised', session: session(9), advertisement: SAID, from: null });

  t.is(after, state);
  t.deepEqual([changes, effects], [[], []]);
});

test('addresses that are not its own are left out, and the log has it', (t) => {
  const lies = [
    '8.8.8.8:51820',
    '169.254.169.254:80',
    '127.0.0.1:51820',
    '224.0.0.1:51820',
    '[2001:db8::9]:51820',
    '0.0.0.0:51820',
    '[::1]:51820',
    '[ff02::1]:51820',
  ];

  const { state, effects } = advertise(liveNode(), { endpoints: lies });

  t.deepEqual(state.vpn?.endpoints, []);
  t.deepEqual(effects, [
    {
      type: 'warn',
      message: 'a node names addresses that are not its own as places where it is reached: they are left out',
      fields: { node: NODE, left_out: lies.length },
    },
  ]);
});

test('a public address is believed when the node is seen to come from it: by its session, or by an observer', (t) => {
  const bySession = advertise(liveNode(), { endpoints: ['203.0.113.9:51820'] }, '::ffff:203.0.113.9');
  const byObserver = advertise(liveNode([], { vpn: { ...PLACE, observed: '[2001:db8::9]:40000' } }), {
    endpoints: ['[2001:db8::9]:51820', '10.1.2.3:51820'],
  });

  t.deepEqual(bySession.state.vpn?.endpoints, ['203.0.113.9:51820']);
  t.deepEqual(byObserver.state.vpn?.endpoints, ['[2001:db8::9]:51820', '10.1.2.3:51820']);
});

test("the key of an observer is nobody's: who takes it is refused, and in no VPN", (t) => {
  const observing = nodeBehaviour({
    ...SETTINGS,
    agent: {
      ...SETTINGS.agent,
      mesh: { mode: 'embedded', observers: [{ host: null, port: 43_478, public_key: KEY }] },
    },
  });

  const { changes, effects } = observing.transition(
    liveNode(),
    { type: 'vpn-advertised', session: session(1), advertisement: SAID, from: null },
    NOW_MS,
  );

  t.deepEqual(changes, []);
  t.deepEqual(
    effects.map((effect) => (effect.type === 'send' ? effect.frame.type : effect.type)),
    ['warn', 'mesh-refused'],
  );
});

test('lies that were told of already are not told again with every welcome', (t) => {
  const first = advertise(liveNode(), { endpoints: ['8.8.8.8:51820'] });

  t.deepEqual(advertise(first.state, { endpoints: ['8.8.8.8:51820'] }).effects, [WANTED]);
});

test('what was observed of a socket is forgotten with its key or port', (t) => {
  const known = liveNode([], { vpn: { ...PLACE, observed: '203.0.113.9:40000', isStable: true } });

  t.is(advertise(known, { relay_region: 901 }).state.vpn?.observed, '203.0.113.9:40000');
  t.is(advertise(known, { public_key: OTHER_KEY }).state.vpn?.observed, null);
  t.is(advertise(known, { listen_port: 51_821 }).state.vpn?.observed, null);
});

test('an agent is told why the rows did not take it', (t) => {
  const { effects } = say(liveNode(), {
    type: 'refused',
    write: { kind: 'vpn-member-set', node: NODE, cluster: CLUSTER, place: PLACE, atMs: NOW_MS },
    refusal: { code: 'conflict', message: 'Another node has this WireGuard key.' },
  });

  t.deepEqual(
    effects.map((effect) => (effect.type === 'send' ? effect.frame : effect.type)),
    ['warn', { type: 'mesh-refused', reason: 'Another node has this WireGuard key.' }],
  );
});

test('where its socket is seen is stored once, and told to the agent', (t) => {
  const message = { type: 'vpn-observed', publicKey: KEY, endpoint: '203.0.113.9:40000', isStable: true } as const;

  const { state, changes, effects } = say(liveNode([], { vpn: PLACE }), message);

  t.deepEqual(writesOf({ changes }), [
    {
      kind: 'vpn-observed',
      node: NODE,
      publicKey: KEY,
      observed: '203.0.113.9:40000',
      isStable: true,
      atMs: NOW_MS,
    },
  ]);
  t.deepEqual(effects, [
    {
      type: 'send',
      session: session(1),
      frame: { type: 'mesh-observed', endpoint: '203.0.113.9:40000', is_stable: true },
    },
  ]);
  t.is(say(state, message).state, state);
  t.is(say(state, { ...message, publicKey: OTHER_KEY, endpoint: '203.0.113.8:1' }).state, state);
});

test('what its cluster tells goes to the live session, and to nobody without one', (t) => {
  const body = { type: 'mesh-refused', reason: 'no' } as const;
  const told = { type: 'vpn-told', cluster: CLUSTER, body } as const;

  t.deepEqual(say(liveNode(), told).effects, [{ type: 'send', session: session(1), frame: body }]);
  t.deepEqual(say(nodeState(), told).effects, []);
});

test('what a cluster tells that the node has left meanwhile takes nothing from what its own has told it', (t) => {
  const late = {
    type: 'vpn-told',
    cluster: OTHER_CLUSTER,
    body: { type: 'mesh-refused', reason: 'no' },
  } as const;

  t.deepEqual(say(liveNode(), late).effects, []);
});

test('how well it is connected is kept with the session', (t) => {
  const report = { direct: 2, relayed: 1, none: 0, gateway: { path: 'direct', handshake_age_ms: 900 } } as const;

  const { state, changes } = say(liveNode(), { type: 'vpn-reported', session: session(1), report });

  t.deepEqual([state.session?.vpn, changes], [{ ...NEW_VPN_SESSION, report: { said: report, atMs: NOW_MS } }, []]);
});
