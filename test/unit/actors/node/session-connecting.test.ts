/** What a node does when its agent connects. */
import test from 'ava';
import { PROTOCOL_VERSION } from '../../../../transport/protocol/version.ts';
import {
  CLUSTER,
  evidence,
  execution,
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
  FACTS,
} from '../../../support/actors.ts';
import { acknowledged, arrived, connected, say } from './fixture.ts';
import { writesOf } from '../../../support/steps.ts';
import { finished } from './executions-fixture.ts';
import { column } from '../../../support/database/columns.ts';

const snapshot = {
  node_id: NODE,
  name: 'bbbbbbbb',
  cluster_name: 'factory',
  status: 'healthy',
  version: '1.0.0',
  id_type: 'persistent',
  ...PORTS,
  self_update_enabled: false,
  facts: null,
  labels: {},
  last_seen_at: '2026-01-15T10:01:00.000Z',
  inserted_at: '2026-01-15T10:00:00.000Z',
  updated_at: '2026-01-15T10:01:00.000Z',
};

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
      isEarly: true,
      session: session(1),
      cluster: CLUSTER,
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
      isEarly: true,
      session: session(2),
      cluster: CLUSTER,
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
        facts: null,
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
  const changes = {
    id_type: 'random',
    self_update_enabled: true,
    ports: { ...PORTS, ssh_port: 2_222 },
    facts: FACTS,
  } as const;
  for (const [field, value] of Object.entries(changes)) {
    const step = say(liveNode(), connected(2, { registration: { ...REGISTRATION, [field]: value } }));

    t.deepEqual(
      step.changes.map((change) => column(change.events, 'type')),
      [['edge.node.reregistered']],
      field,
    );
  }
});

test('on connect a held pending execution is sent, an unheld one is delivered, and an unheld sent one ends with 137', (t) => {
  const before = nodeState({
    record: nodeRecord({ status: 'healthy' }),
    open: new Map([open(1), open(2), open(3, 'sent'), open(4, 'sent')].map((one) => [one.id, one])),
  });

  const step = say(before, connected(1, { holding: [execution(1), execution(3)] }));

  t.deepEqual(writesOf(step), [
    { kind: 'execution-sent', execution: execution(1), atMs: NOW_MS },
    finished(4, 'cancelled', { exitCode: 137 }),
  ]);
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
  const ended = say(
    step.state,
    arrived({
      execution: execution(1),
      outcome: 'completed',
      exit_code: 7,
      output: 'kept',
      parts: 0,
      output_truncated: true,
    }),
  );

  t.deepEqual([step.changes, [...step.state.open.keys()]], [[], [execution(1), execution(2)]]);
  t.deepEqual(step.effects.slice(1), [
    { type: 'send', session: session(1), frame: { type: 'recall', executions: [execution(1), execution(2)] } },
    { type: 'send', session: session(1), frame: { type: 'cancel', executions: [execution(2)] } },
  ]);
  t.deepEqual(say(step.state, { type: 'rescan' }).effects, [
    { type: 'load-open', limit: 254, except: [execution(1), execution(2)] },
  ]);
  t.like(ended.changes[0]?.write, {
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
      retry: { ...acknowledged(execution(9)), session: session(2) },
    },
  ]);
});
