/** What reports, silence and the end of a session do to a node. */
import test from 'ava';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import { AGENT_RETURN_MS_MAX } from '../../../../actors/node/reachability.ts';
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
  session,
  told,
  UNHEALTHY,
} from '../../../support/actors.ts';
import { behaviour, disconnected, say } from './fixture.ts';
import { tell, writesOf } from '../../../support/steps.ts';

test('with a session a failed service makes a node unhealthy, its recovery healthy; the same report stores nothing', (t) => {
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
  const gone = say(liveNode(), disconnected(NOW_MS - 5_000));

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
  t.deepEqual(writesOf(silent), [
    { kind: 'node-status', node: NODE, status: 'unreachable', standing, atMs: NOW_MS + 25_000 },
  ]);
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
    { type: 'executions-acknowledged', session: session(0), executions: [execution(1)], atMs: NOW_MS },
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
    tell('node', NODE, { type: 'cancel', executions: [execution(1)], replyTo: null }),
    {
      type: 'remind',
      key: 'silence',
      afterMs: AGENT_RETURN_MS_MAX,
      message: { type: 'silence-elapsed', dueMs: NOW_MS + AGENT_RETURN_MS_MAX },
    },
  ]);
  t.deepEqual(behaviour.recoveryEffects(nodeState(), NOW_MS), []);
});
