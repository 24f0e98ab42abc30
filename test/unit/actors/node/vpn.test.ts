/** What a node has to do with the VPN. */
import test from 'ava';
import {
  ADVERTISEMENTS_BURST_MAX,
  ADVERTISEMENTS_PER_SECOND_MAX,
  NEW_VPN_SESSION,
  NEWS_BURST_MAX,
  NEWS_PER_SECOND_MAX,
  TRIES_BURST_MAX,
  TRIES_PER_SECOND_MAX,
} from '../../../../actors/node/vpn-state.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import type { VpnPlace } from '../../../../actors/records.ts';
import type { VpnAdvertisement } from '../../../../transport/protocol/vpn.ts';
import {
  CLUSTER,
  HEALTHY,
  liveNode,
  NODE,
  nodeState,
  NOW_MS,
  REGISTRATION,
  session,
  SETTINGS,
} from '../../../support/actors.ts';

const behaviour = nodeBehaviour(SETTINGS);
const KEY = 'zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMw=';
const OTHER_KEY = '3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d0=';

const PLACE: VpnPlace = {
  publicKey: KEY,
  listenPort: 51_820,
  endpoints: ['192.168.1.20:51820'],
  observed: null,
  isStable: null,
  relayRegion: 900,
};
const SAID: VpnAdvertisement = {
  public_key: KEY,
  listen_port: 51_820,
  endpoints: ['192.168.1.20:51820'],
  relay_region: 900,
  revision: { epoch: 2, number: 7 },
};

function say(state: NodeState, message: NodeMessage, nowMs = NOW_MS) {
  return behaviour.transition(state, message, nowMs);
}

function advertise(state: NodeState, more: Partial<VpnAdvertisement> = {}, from: string | null = '203.0.113.9') {
  return say(state, { type: 'mesh-advertised', session: session(1), advertisement: { ...SAID, ...more }, from });
}

const WANTED = {
  type: 'tell',
  told: {
    to: { kind: 'cluster', id: CLUSTER },
    message: { type: 'mesh-wanted', node: NODE, revision: { epoch: 2, number: 7 } },
  },
} as const;

test('what an agent says of itself is stored before its cluster tells it anything', (t) => {
  const { state, changes, effects } = advertise(liveNode());

  t.deepEqual(changes, [
    {
      write: { kind: 'mesh-member-set', node: NODE, cluster: CLUSTER, place: PLACE, atMs: NOW_MS },
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
  } = say(state, { type: 'mesh-advertised', session: session(9), advertisement: SAID, from: null });

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
    { type: 'mesh-advertised', session: session(1), advertisement: SAID, from: null },
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
    write: { kind: 'mesh-member-set', node: NODE, cluster: CLUSTER, place: PLACE, atMs: NOW_MS },
    refusal: { code: 'conflict', message: 'Another node has this WireGuard key.' },
  });

  t.deepEqual(
    effects.map((effect) => (effect.type === 'send' ? effect.frame : effect.type)),
    ['warn', { type: 'mesh-refused', reason: 'Another node has this WireGuard key.' }],
  );
});

test('where its socket is seen is stored once, and told to the agent', (t) => {
  const message = { type: 'mesh-observed', publicKey: KEY, endpoint: '203.0.113.9:40000', isStable: true } as const;

  const { state, changes, effects } = say(liveNode([], { vpn: PLACE }), message);

  t.deepEqual(
    changes.map(({ write }) => write),
    [
      {
        kind: 'mesh-observed',
        node: NODE,
        publicKey: KEY,
        observed: '203.0.113.9:40000',
        isStable: true,
        atMs: NOW_MS,
      },
    ],
  );
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

test('wishes for direct paths are passed on within an allowance, which comes back', (t) => {
  const directWanted = { type: 'direct-wanted', session: session(1), publicKey: OTHER_KEY } as const;
  const passed = (count: number, from: NodeState, nowMs: number) => {
    let state = from;
    let told = 0;
    for (let index = 0; index < count; index += 1) {
      const step = say(state, directWanted, nowMs);
      state = step.state;
      told += step.effects.length;
    }
    return { state, told };
  };

  const first = passed(TRIES_BURST_MAX + 10, liveNode(), NOW_MS);
  const second = passed(TRIES_PER_SECOND_MAX * 10, first.state, NOW_MS + 2_000);

  t.is(first.told, TRIES_BURST_MAX);
  t.is(second.told, TRIES_PER_SECOND_MAX * 2);
});

test('a clock that was set back by hours lets an agent ask for tries again within seconds', (t) => {
  let state = liveNode();
  for (let asked = 0; asked < TRIES_BURST_MAX + 1; asked += 1)
    ({ state } = say(state, { type: 'direct-wanted', session: session(1), publicKey: OTHER_KEY }, NOW_MS));
  const backMs = NOW_MS - 36_000_000;
  ({ state } = say(state, { type: 'direct-wanted', session: session(1), publicKey: OTHER_KEY }, backMs));

  t.is(
    say(state, { type: 'direct-wanted', session: session(1), publicKey: OTHER_KEY }, backMs + 1_000).effects.length,
    1,
  );
});

/**
 * A node that says, one after another and perhaps on new sessions, where it is; `stored` are its places in the rows.
 */
class Saying {
  state = liveNode();
  stored: (number | null)[] = [];
  hangUps = 0;
  late: { readonly dueMs: number; readonly message: NodeMessage } | null = null;
  #sessions = 1;

  moved(relayRegion: number, nowMs: number): void {
    this.#hear(
      {
        type: 'mesh-advertised',
        session: session(this.#sessions),
        advertisement: { ...SAID, relay_region: relayRegion },
        from: null,
      },
      nowMs,
    );
  }

  /** Time passes, and with it what waits. */
  pass(nowMs: number): void {
    const { late } = this;
    if (late === null || late.dueMs > nowMs) return;
    this.late = null;
    this.#hear(late.message, nowMs);
  }

  reconnect(nowMs: number): void {
    this.#hear(
      { type: 'agent-disconnected', session: session(this.#sessions), lastHeardMs: nowMs, isOurs: false },
      nowMs,
    );
    this.#sessions += 1;
    this.#hear(
      {
        type: 'agent-connected',
        session: session(this.#sessions),
        hello: { registration: REGISTRATION, report: HEALTHY, holding: [] },
      },
      nowMs,
    );
  }

  #hear(message: NodeMessage, nowMs: number): void {
    const { state, changes, effects } = say(this.state, message, nowMs);
    this.state = state;
    for (const { write } of changes) if (write.kind === 'mesh-member-set') this.stored.push(write.place.relayRegion);
    for (const effect of effects) {
      if (effect.type === 'hang-up') this.hangUps += 1;
      if (effect.type === 'remind' && effect.key === 'mesh-news')
        this.late = { dueMs: nowMs + effect.afterMs, message: effect.message as NodeMessage };
    }
  }
}

test('news beyond the allowance of a node waits, the last of it is stored when its time comes, and a new session has no more', (t) => {
  const node = new Saying();

  for (let number = 1; number <= ADVERTISEMENTS_BURST_MAX; number += 1) {
    if (number % 10 === 0) node.reconnect(NOW_MS);
    node.moved(number, NOW_MS);
  }
  t.deepEqual([node.stored, node.hangUps], [Array.from({ length: NEWS_BURST_MAX }, (_none, index) => index + 1), 0]);

  node.pass(NOW_MS + 1_000 / NEWS_PER_SECOND_MAX);
  t.deepEqual(
    [node.stored.at(-1), node.stored.length, node.late],
    [ADVERTISEMENTS_BURST_MAX, NEWS_BURST_MAX + 1, null],
  );

  // what waited was counted when it came, not again
  const back = ADVERTISEMENTS_PER_SECOND_MAX / NEWS_PER_SECOND_MAX;
  for (let number = 1; number <= back; number += 1) node.moved(1_000 + number, NOW_MS + 1_000 / NEWS_PER_SECOND_MAX);
  t.is(node.hangUps, 0);
});

test('a node that is back where it was before its news was stored stays there', (t) => {
  const node = new Saying();
  for (let number = 1; number <= NEWS_BURST_MAX; number += 1) node.moved(number, NOW_MS);

  node.moved(500, NOW_MS);
  node.moved(NEWS_BURST_MAX, NOW_MS);
  node.pass(NOW_MS + 10_000);
  node.pass(NOW_MS + 20_000);

  t.deepEqual([node.stored.length, node.state.vpn?.relayRegion, node.late], [NEWS_BURST_MAX, NEWS_BURST_MAX, null]);
});

test('an agent that says too often where it is is hung up, also on its next session; one that does so now and then is not', (t) => {
  const node = new Saying();
  for (let number = 1; number <= ADVERTISEMENTS_BURST_MAX; number += 1) node.moved(number, NOW_MS);
  t.is(node.hangUps, 0);

  node.moved(65_000, NOW_MS);
  node.reconnect(NOW_MS + 1);
  node.moved(65_000, NOW_MS + 1);
  t.is(node.hangUps, 2);

  for (let second = 1; second <= 10; second += 1) {
    for (let nth = 0; nth < ADVERTISEMENTS_PER_SECOND_MAX; nth += 1)
      node.moved(second * 100 + nth, NOW_MS + second * 1_000 + 1);
  }
  t.is(node.hangUps, 2);
});

test('what the cluster tells goes to the live session, and to nobody without one', (t) => {
  const body = { type: 'mesh-refused', reason: 'no' } as const;

  t.deepEqual(say(liveNode(), { type: 'mesh-told', body }).effects, [
    { type: 'send', session: session(1), frame: body },
  ]);
  t.deepEqual(say(nodeState(), { type: 'mesh-told', body }).effects, []);
});

test('how well it is connected is kept with the session', (t) => {
  const report = { direct: 2, relayed: 1, none: 0, gateway: { path: 'direct', handshake_age_ms: 900 } } as const;

  const { state, changes } = say(liveNode(), { type: 'mesh-reported', session: session(1), report });

  t.deepEqual([state.session?.vpn, changes], [{ ...NEW_VPN_SESSION, report: { said: report, atMs: NOW_MS } }, []]);
});
