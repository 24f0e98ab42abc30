/** How often a node may say where it is, and ask for direct paths. */
import test from 'ava';
import {
  ADVERTISEMENTS_BURST_MAX,
  ADVERTISEMENTS_PER_SECOND_MAX,
  NEWS_BURST_MAX,
  NEWS_PER_SECOND_MAX,
  TRIES_BURST_MAX,
  TRIES_PER_SECOND_MAX,
} from '../../../../actors/node/vpn-state.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { HEALTHY, liveNode, NOW_MS, REGISTRATION, session } from '../../../support/actors.ts';
import { OTHER_KEY, SAID } from './vpn-fixture.ts';
import { say } from './fixture.ts';

test('requests for direct paths are passed on within an allowance, which comes back', (t) => {
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
        type: 'vpn-advertised',
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
    for (const { write } of changes) if (write.kind === 'vpn-member-set') this.stored.push(write.place.relayRegion);
    for (const effect of effects) {
      if (effect.type === 'hang-up') this.hangUps += 1;
      if (effect.type === 'remind' && effect.key === 'vpn-news')
        this.late = { dueMs: nowMs + effect.afterMs, message: effect.message as NodeMessage };
    }
  }
}

test('endpoint changes beyond the allowance of a node wait; the last is stored when due, and a new session adds none', (t) => {
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

test('an agent that reports endpoints too often is hung up, on its next session too; at a moderate rate it is not', (t) => {
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
