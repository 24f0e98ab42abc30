/** What connecting, reporting and going away do to a node. */
import test from 'ava';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import { AGENT_RETURN_MS_MAX } from '../../../../actors/node/session.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import { PROTOCOL_VERSION } from '../../../../transport/protocol/version.ts';
import {
  evidence,
  execution,
  HEALTHY,
  liveNode,
  MADE_MS,
  NODE,
  nodeRecord,
  nodeState,
  NOW_MS,
  open,
  PORTS,
  REGISTRATION,
  session,
  SETTINGS,
  told,
  UNHEALTHY,
} from '../../../support/actors.ts';

const behaviour = nodeBehaviour(SETTINGS);

const snapshot = {
  node_id: NODE,
  cluster_name: 'factory',
  status: 'healthy',
  version: '1.0.0',
  id_type: 'persistent',
  ...PORTS,
  self_update_enabled: false,
  last_seen_at: '2026-01-15T10:01:00.000Z',
  inserted_at: '2026-01-15T10:00:00.000Z',
  updated_at: '2026-01-15T10:01:00.000Z',
};

function connected(
  number: number,
  {
    holding = [],
    report = HEALTHY,
    registration = REGISTRATION,
    ...more
  }: {
    holding?: readonly ExecutionId[];
    report?: typeof HEALTHY;
    registration?: typeof REGISTRATION;
    recalls?: boolean;
  } = {},
): NodeMessage {
  return { type: 'agent-connected', session: session(number), hello: { registration, report, holding, ...more } };
}

function say(state: NodeState, message: NodeMessage, nowMs = NOW_MS) {
  return behaviour.transition(state, message, nowMs);
}

test('a node that connects becomes healthy, with the event that says what it was, and is welcomed', (t) => {
  const step = say(nodeState(), connected(1));

  const standing = { sinceMs: NOW_MS, reason: null, evidence: evidence(NOW_MS), changesMs: [NOW_MS] };
  t.deepEqual(step.changes, [
    {
      write: { kind: 'node-status', node: NODE, status: 'healthy', standing, atMs: NOW_MS },
      events: [
        {
          type: 'edge.node.status_changed',
          subject: NODE,
          atMs: NOW_MS,
          data: { ...snapshot, previous_status: 'unreachable' },
        },
      ],
      notices: [{ type: 'node-changed', node: NODE }, { type: 'events-stored' }],
    },
  ]);
  t.deepEqual(step.effects, [
    {
      type: 'send',
      session: session(1),
      frame: { type: 'welcome', protocol: PROTOCOL_VERSION, cluster_name: 'factory', settings: SETTINGS.agent },
    },
  ]);
  const live = liveNode([], {
    record: nodeRecord({ status: 'healthy', standing, lastSeenAtMs: NOW_MS, updatedAtMs: NOW_MS }),
  });
  t.deepEqual(step.state, {
    ...live,
    session: { ...live.session!, connectedAtMs: NOW_MS, reportedAtMs: NOW_MS, wellSinceMs: NOW_MS },
  });
});

test('a node that reconnects hangs up its older session and stores nothing', (t) => {
  const step = say(liveNode(), connected(2));

  t.deepEqual(step.changes, []);
  t.deepEqual(step.effects, [
    { type: 'hang-up', session: session(1), code: 4001, reason: 'a newer session of this node took over' },
    {
      type: 'send',
      session: session(2),
      frame: { type: 'welcome', protocol: PROTOCOL_VERSION, cluster_name: 'factory', settings: SETTINGS.agent },
    },
  ]);
  t.is(step.state.session?.id, session(2));
});

test('an agent with a new version is stored, and told as registered again and as changed', (t) => {
  const step = say(liveNode(), connected(2, { registration: { ...REGISTRATION, version: '1.1.0' } }));

  const data = { ...snapshot, version: '1.1.0', last_seen_at: '2026-01-15T10:01:00.000Z' };
  t.deepEqual(step.changes, [
    {
      write: {
        kind: 'node-registered',
        node: NODE,
        version: '1.1.0',
        idType: 'persistent',
        ports: PORTS,
        selfUpdateEnabled: false,
        atMs: NOW_MS,
      },
      events: [
        { type: 'edge.node.reregistered', subject: NODE, atMs: NOW_MS, data },
        {
          type: 'edge.node.version_changed',
          subject: NODE,
          atMs: NOW_MS,
          data: { ...data, previous_version: '1.0.0' },
        },
      ],
      notices: [{ type: 'node-changed', node: NODE }, { type: 'events-stored' }],
    },
  ]);
});

test('every field that an agent says of itself is stored when it is news', (t) => {
  const changes = { id_type: 'random', self_update_enabled: true, ports: { ...PORTS, ssh_port: 2_222 } } as const;
  for (const [field, value] of Object.entries(changes)) {
    const step = say(liveNode(), connected(2, { registration: { ...REGISTRATION, [field]: value } }));

    t.deepEqual(
      step.changes.map((change) => change.events.map((event) => event.type)),
      [['edge.node.reregistered']],
      field,
    );
  }
});

test('what the agent holds decides what is sent: pending and held is sent, pending and not held is delivered, sent and not held is over with 137', (t) => {
  const before = nodeState({
    record: nodeRecord({ status: 'healthy' }),
    open: new Map([open(1), open(2), open(3, 'sent'), open(4, 'sent')].map((one) => [one.id, one])),
  });

  const step = say(before, connected(1, { holding: [execution(1), execution(3)] }));

  t.deepEqual(
    step.changes.map((change) => change.write),
    [
      { kind: 'execution-sent', execution: execution(1), atMs: NOW_MS },
      {
        kind: 'execution-finished',
        execution: execution(4),
        status: 'cancelled',
        atMs: NOW_MS,
        sentAtMs: MADE_MS + 1_000,
        ending: { exitCode: 137, output: '', parts: 0, truncated: false },
      },
    ],
  );
  t.deepEqual(step.effects.slice(1), [
    {
      type: 'send',
      session: session(1),
      frame: {
        type: 'deliver',
        deliveries: [{ execution: execution(2), command_text: 'true', timeout_ms: null, expires_in_ms: null }],
      },
    },
  ]);
  t.deepEqual(
    [...step.state.open].map(([key, one]) => [key, one.status]),
    [
      [execution(1), 'sent'],
      [execution(2), 'pending'],
      [execution(3), 'sent'],
    ],
  );
});

test('an agent that remembers what it ran is asked how that ended which it no longer holds, once, and its answer ends it', (t) => {
  const before = nodeState({
    record: nodeRecord({ status: 'healthy' }),
    open: new Map([open(1, 'sent'), open(2, 'sent', { cancelRequestedAtMs: MADE_MS })].map((one) => [one.id, one])),
  });

  const step = say(before, connected(1, { recalls: true }));
  const answered = say(step.state, {
    type: 'results-arrived',
    session: session(1),
    results: [
      { execution: execution(1), outcome: 'completed', exit_code: 7, output: 'kept', parts: 0, output_truncated: true },
    ],
  });

  t.deepEqual([step.changes, [...step.state.open.keys()]], [[], [execution(1), execution(2)]]);
  t.deepEqual(step.effects.slice(1), [
    { type: 'send', session: session(1), frame: { type: 'recall', executions: [execution(1), execution(2)] } },
    { type: 'send', session: session(1), frame: { type: 'cancel', executions: [execution(2)] } },
  ]);
  t.deepEqual(say(step.state, { type: 'rescan' }).effects, [
    { type: 'load-open', limit: 254, except: [execution(1), execution(2)] },
  ]);
  t.like(answered.changes[0]?.write, {
    kind: 'execution-finished',
    execution: execution(1),
    status: 'completed',
    ending: { exitCode: 7, output: 'kept' },
  } as never);
});

test('a cancel that was asked for while the agent was away is sent when it comes back', (t) => {
  const before = nodeState({
    record: nodeRecord({ status: 'healthy' }),
    open: new Map([[execution(1), open(1, 'sent', { cancelRequestedAtMs: MADE_MS })]]),
  });

  const step = say(before, connected(1, { holding: [execution(1)] }));

  t.deepEqual(step.changes, []);
  t.deepEqual(step.effects.slice(1), [
    { type: 'send', session: session(1), frame: { type: 'cancel', executions: [execution(1)] } },
  ]);
});

test('what the agent holds and the actor does not know is looked up, as if the agent acknowledged it now', (t) => {
  const step = say(liveNode(), connected(2, { holding: [execution(9)] }));

  t.deepEqual(step.effects.slice(2), [
    {
      type: 'look-up',
      executions: [execution(9)],
      retry: { type: 'executions-acknowledged', session: session(2), executions: [execution(9)] },
    },
  ]);
});

test('with a session, a service down makes a node unhealthy, and its recovery healthy again; the same report again stores nothing', (t) => {
  const down = say(liveNode(), { type: 'agent-reported', session: session(1), report: UNHEALTHY });
  const again = say(down.state, { type: 'agent-reported', session: session(1), report: UNHEALTHY });
  const up = say(again.state, { type: 'agent-reported', session: session(1), report: HEALTHY });

  t.deepEqual(
    down.changes[0]?.events.map((event) => told(event, 'previous_status', 'status')),
    [['healthy', 'unhealthy']],
  );
  t.deepEqual(again.changes, []);
  t.deepEqual(
    up.changes[0]?.events.map((event) => told(event, 'previous_status', 'status')),
    [['unhealthy', 'healthy']],
  );
});

test('late reports make a node unhealthy until the next one comes', (t) => {
  const late = say(liveNode(), { type: 'report-late', session: session(1) });
  const heard = say(late.state, { type: 'agent-reported', session: session(1), report: HEALTHY });

  t.deepEqual([late.state.record.status, heard.state.record.status], ['unhealthy', 'healthy']);
});

test('a session that ends leaves the node as it was until it was silent for long enough', (t) => {
  const gone = say(liveNode(), {
    type: 'agent-disconnected',
    session: session(1),
    lastHeardMs: NOW_MS - 5_000,
    isOurs: false,
  });

  t.deepEqual(gone.changes, []);
  t.deepEqual(gone.effects, [
    { type: 'remind', key: 'silence', afterMs: 25_000, message: { type: 'silence-elapsed', dueMs: NOW_MS + 25_000 } },
  ]);
  t.is(gone.state.record.status, 'healthy');

  const silent = say(gone.state, { type: 'silence-elapsed', dueMs: NOW_MS + 25_000 }, NOW_MS + 25_000);
  const standing = {
    sinceMs: NOW_MS + 25_000,
    reason: 'Nothing heard since 2026-01-15T10:00:55.000Z',
    evidence: { ...evidence(MADE_MS), observed_at: '2026-01-15T10:01:25.000Z', session: null },
    changesMs: [MADE_MS, NOW_MS + 25_000],
  };
  t.deepEqual(
    silent.changes.map((change) => change.write),
    [{ kind: 'node-status', node: NODE, status: 'unreachable', standing, atMs: NOW_MS + 25_000 }],
  );
  t.deepEqual(
    silent.changes[0]?.events.map((event) => told(event, 'last_seen_at')),
    [['2026-01-15T10:00:55.000Z']],
  );
});

test('a node that came back before the silence was over stays healthy', (t) => {
  t.deepEqual(say(liveNode(), { type: 'silence-elapsed', dueMs: NOW_MS }), {
    state: liveNode(),
    changes: [],
    effects: [],
  });
});

test('news of an older session changes nothing', (t) => {
  const state = liveNode([open(1)]);
  const news: NodeMessage[] = [
    { type: 'agent-disconnected', session: session(0), lastHeardMs: MADE_MS, isOurs: false },
    { type: 'agent-reported', session: session(0), report: UNHEALTHY },
    { type: 'report-late', session: session(0) },
    { type: 'executions-acknowledged', session: session(0), executions: [execution(1)] },
    { type: 'output-part-arrived', session: session(0), execution: execution(1), part: 0, text: 'x' },
    { type: 'results-arrived', session: session(0), results: [] },
    { type: 'delivery-withheld', session: session(0), executions: [execution(1)] },
  ];
  for (const message of news) {
    const step = say(state, message);

    t.is(step.state, state, message.type);
    t.deepEqual([step.changes, step.effects], [[], []], message.type);
  }
});

test('after a restart of the admin, a node that was in reach has time to come back, and cancels are asked for again', (t) => {
  const restarted = nodeState({
    record: nodeRecord({ status: 'healthy' }),
    open: new Map([[execution(1), open(1, 'pending', { cancelRequestedAtMs: MADE_MS })]]),
  });

  t.deepEqual(behaviour.recoveryEffects(restarted, NOW_MS), [
    {
      type: 'tell',
      told: { to: { kind: 'node', id: NODE }, message: { type: 'cancel', executions: [execution(1)], replyTo: null } },
    },
    {
      type: 'remind',
      key: 'silence',
      afterMs: AGENT_RETURN_MS_MAX,
      message: { type: 'silence-elapsed', dueMs: NOW_MS + AGENT_RETURN_MS_MAX },
    },
  ]);
  t.deepEqual(behaviour.recoveryEffects(nodeState(), NOW_MS), []);
});
