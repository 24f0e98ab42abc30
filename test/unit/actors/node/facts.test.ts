/** What an agent says of its machine, and what becomes of it. */
import test from 'ava';
import { displayName } from '../../../../actors/node/display-name.ts';
import { FACTS_BURST_MAX, FACTS_PER_SECOND_MAX } from '../../../../actors/node/facts.ts';
import { shownFacts } from '../../../../actors/node/shown-facts.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import type { NodeFacts } from '../../../../transport/protocol/facts.ts';
import {
  FACTS,
  HEALTHY,
  liveNode,
  NODE,
  nodeRecord,
  NOW_MS,
  REGISTRATION,
  session,
  SETTINGS,
  told,
} from '../../../support/actors.ts';

const behaviour = nodeBehaviour(SETTINGS);

function say(state: NodeState, message: NodeMessage, nowMs = NOW_MS) {
  return behaviour.transition(state, message, nowMs);
}

function changed(facts: NodeFacts, number = 1): NodeMessage {
  return { type: 'facts-changed', session: session(number), facts };
}

function hello(facts?: NodeFacts): NodeMessage {
  return {
    type: 'agent-connected',
    session: session(2),
    hello: { registration: { ...REGISTRATION, ...(facts !== undefined && { facts }) }, report: HEALTHY, holding: [] },
  };
}

/** A connected node whose machine is known. */
function known(facts: NodeFacts | null = FACTS): NodeState {
  return liveNode([], { record: nodeRecord({ status: 'healthy', facts }) });
}

test('what is new of a machine is stored and told with all of the node', (t) => {
  const facts = { ...FACTS, hostname: 'press-8' };

  const step = say(known(), changed(facts));

  t.deepEqual(
    step.changes.map(({ write }) => [write.kind, 'facts' in write ? write.facts : null]),
    [['node-registered', facts]],
  );
  const [event] = step.changes[0]!.events;
  t.is(event?.type, 'edge.node.reregistered');
  t.deepEqual(told(event!, 'name', 'facts', 'labels'), ['press-8', facts, {}]);
  t.deepEqual(step.state.record.facts, facts);
});

test('the same machine is no news, with a hello as without', (t) => {
  t.deepEqual(say(known(), changed(FACTS)).changes, []);
  t.deepEqual(say(known(), hello(FACTS)).changes, []);
});

test('an older agent, which says nothing of its machine, leaves nothing known of it', (t) => {
  t.is(say(known(), hello()).state.record.facts, null);
  t.deepEqual(say(known(null), hello()).changes, []);
});

test('news of an older session is not believed', (t) => {
  t.deepEqual(say(known(), changed({ ...FACTS, hostname: 'x' }, 9)).changes, []);
});

test('news that comes faster than it is stored waits, and the last of it is stored', (t) => {
  let state = known();
  const names = Array.from({ length: FACTS_BURST_MAX + 2 }, (_, index) => `name-${index}`);
  const steps = names.map((hostname) => {
    const step = say(state, changed({ ...FACTS, hostname }));
    ({ state } = step);
    return step;
  });

  t.deepEqual(
    steps.map(({ changes }) => changes.length),
    names.map((_, index) => (index < FACTS_BURST_MAX ? 1 : 0)),
  );
  const [reminder] = steps.at(-1)!.effects;
  const waitMs = 1_000 / FACTS_PER_SECOND_MAX;
  t.like(reminder, { type: 'remind', key: 'facts', afterMs: waitMs } as never);
  const late = say(state, (reminder as { message: NodeMessage }).message, NOW_MS + waitMs);
  t.is(late.state.record.facts?.hostname, names.at(-1));
});

test('what is as it was again takes the place of news that waits', (t) => {
  let state = known();
  for (let index = 0; index <= FACTS_BURST_MAX; index += 1)
    ({ state } = say(state, changed({ ...FACTS, hostname: `name-${index}` })));
  const stored = state.record.facts!;

  const step = say(state, changed(stored));

  t.like(step.effects[0], { type: 'remind', key: 'facts', message: { facts: stored } } as never);
});

test('no address gets into the facts of a node, and no control character; a version of four numbers stays one', (t) => {
  const shown = shownFacts({
    ...FACTS,
    hostname: 'web 100.64.1.3',
    os: 'fd00::1',
    os_version: '10.0.0.7',
    os_name: 'a\u001B[2Jb',
    kernel: '5.15.167.4-microsoft-standard-WSL2',
    cpu_model: '192.168.1.1',
    virtualization: '::1',
  });

  t.like(shown, {
    hostname: 'web (address)',
    os: '(address)',
    os_version: '(address)',
    os_name: 'a [2Jb',
    kernel: '5.15.167.4-microsoft-standard-WSL2',
    cpu_model: '(address)',
    virtualization: '(address)',
  });
});

test('an agent that says nothing of its host key has none', (t) => {
  const { ssh_host_key: _key, ...older } = FACTS;

  t.is(shownFacts(older).ssh_host_key, null);
  t.is(shownFacts(FACTS).ssh_host_key, FACTS.ssh_host_key);
});

test('a node is called by its first alias, else by its machine, else by the beginning of its id', (t) => {
  t.is(displayName({ id: NODE, facts: FACTS }, [{ name: 'web-2' }, { name: 'web-1' }]), 'web-1');
  t.is(displayName({ id: NODE, facts: FACTS }, []), 'press-7');
  t.is(displayName({ id: NODE, facts: null }, []), 'bbbbbbbb');
});
