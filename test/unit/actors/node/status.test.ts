/** Since when a node has its status, why, and what of an agent's words may be shown. */
import test from 'ava';
import { DAMPING_WINDOW_MS } from '../../../../actors/node/damping.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import { AGENT_RETURN_MS_MAX } from '../../../../actors/node/reachability.ts';
import type { Standing } from '../../../../actors/records.ts';
import type { HealthReport } from '../../../../transport/protocol/agent-description.ts';
import {
  evidence,
  HEALTHY,
  liveNode,
  MADE_MS,
  nodeRecord,
  nodeState,
  NOW_MS,
  session,
} from '../../../support/actors.ts';
import { connected, disconnected, say } from './fixture.ts';
import { ofType } from '../../../support/steps.ts';

const reported = (...services: HealthReport['services']): NodeMessage => ({
  type: 'agent-reported',
  session: session(1),
  report: { services },
});
const bad = (name: string, detail: string | null) => ({ name, healthy: false, detail });

function standingAfter(message: NodeMessage, state = liveNode()): Standing {
  return say(state, message).state.record.standing;
}

test('an unhealthy node says which services do not work, since when, and what that rests on', (t) => {
  const standing = standingAfter(
    reported(
      { name: 'runner', healthy: true, detail: null },
      bad('ssh', 'SSH does not listen on port 40022: another program has it'),
      bad('disk', null),
    ),
  );

  const services = [
    { name: 'ssh', problem: 'SSH does not listen on port 40022: another program has it' },
    { name: 'disk', problem: 'it does not work, and does not say why' },
  ];
  t.deepEqual(standing, {
    sinceMs: NOW_MS,
    reason:
      'ssh: SSH does not listen on port 40022: another program has it; disk: it does not work, and does not say why',
    evidence: { ...evidence(NOW_MS, { services }), session: { connected_at: '2026-01-15T10:00:00.000Z' } },
    changesMs: [MADE_MS, NOW_MS],
  });
});

test('late reports say when the last one came, and silence says when it began', (t) => {
  t.is(standingAfter({ type: 'report-late', session: session(1) }).reason, 'No report since 2026-01-15T10:00:00.000Z');

  const gone = say(liveNode(), disconnected(NOW_MS)).state;
  const silent = say(gone, { type: 'silence-elapsed', dueMs: NOW_MS + 30_000 }, NOW_MS + 30_000).state;

  t.is(silent.record.standing.reason, 'Nothing heard since 2026-01-15T10:01:00.000Z');
  t.is(silent.record.standing.evidence?.session, null);
  t.is(say(silent, { type: 'silence-elapsed', dueMs: NOW_MS + 30_000 }, NOW_MS + 30_000).state, silent);
});

test('an unchanged status keeps its beginning; a new reason is stored without an event, at most once a report', (t) => {
  const ssh = say(liveNode(), reported(bad('ssh', 'gone')));
  const soon = say(ssh.state, reported(bad('disk', 'full')), NOW_MS + 9_000);
  const later = say(soon.state, reported(bad('disk', 'full')), NOW_MS + 10_000);
  const again = say(later.state, reported(bad('disk', 'full')), NOW_MS + 20_000);

  t.deepEqual([soon.changes, again.changes], [[], []]);
  t.deepEqual(
    later.changes.map(({ events, notices }) => [events, notices]),
    [[[], [{ type: 'node-changed', node: later.state.record.id }]]],
  );
  t.like(later.state.record.standing, { sinceMs: NOW_MS, reason: 'disk: full', changesMs: [MADE_MS, NOW_MS] });
});

test('service problems are shown at a bounded length, without addresses, control characters and unstorable text', (t) => {
  const hostile = {
    'cannot listen on 100.64.0.7:40022': 'cannot listen on (address):40022',
    'peers fd00:a::7, [fe80::1%wg0]:51820 and ::ffff:10.0.0.1': 'peers (address), [(address)]:51820 and (address)',
    'peer:fd00:1:2:3:4:5:6:7: refused, fd7a::1.': 'peer(address) refused, (address)',
    'from 12:34:56 on, see 1.2.3 and a:b': 'from 12:34:56 on, see 1.2.3 and a:b',
    'a\0b\u001B[31mc\r\nd\u2028e': 'a b [31mc d e',
    'half \uD800': 'half \uFFFD',
    [`${'x'.repeat(255)}\u{1F600}${'y'.repeat(200)}`]: `${'x'.repeat(255)}…`,
  };
  for (const [detail, problem] of Object.entries(hostile)) {
    t.deepEqual(standingAfter(reported(bad('ssh', detail))).evidence?.services, [{ name: 'ssh', problem }]);
  }

  const many = standingAfter(
    reported(...Array.from({ length: 32 }, (_, index) => bad(`s${index}\0`, 'z'.repeat(512)))),
  );
  t.is(many.reason?.length, 1_024);
  t.is(many.evidence?.services[0]?.name, 's0 ');
});

test('a node that changed often says that it is well, and is told so once that has lasted', (t) => {
  const changesMs = [1, 2, 3, 4, 5, 6].map((second) => NOW_MS - second * 1_000).toReversed();
  const flapping = liveNode([], {
    record: nodeRecord({
      status: 'unhealthy',
      standing: { sinceMs: NOW_MS - 1_000, reason: 'ssh: gone', evidence: evidence(NOW_MS - 20_000), changesMs },
    }),
    session: { ...liveNode().session!, wellSinceMs: null },
  });

  const well = say(flapping, { type: 'agent-reported', session: session(1), report: HEALTHY });
  t.deepEqual(
    well.changes.flatMap(({ events }) => events),
    [],
  );
  t.is(
    well.state.record.standing.reason,
    'Its status changed often, so that a better one is told once it has lasted. Well since 2026-01-15T10:01:00.000Z',
  );
  t.deepEqual(well.effects, [{ type: 'remind', key: 'damping', afterMs: 30_000, message: { type: 'status-lasted' } }]);

  const lasted = say(well.state, { type: 'status-lasted' }, NOW_MS + 30_000);
  t.is(lasted.state.record.status, 'healthy');
  t.is(lasted.changes.flatMap(({ events }) => events).length, 1);

  const calm = say({ ...well.state }, { type: 'status-lasted' }, (changesMs[0] ?? 0) + DAMPING_WINDOW_MS);
  t.is(calm.state.record.status, 'healthy');
});

test('what was damped is damped on under another admin: the changes are in the row', (t) => {
  const changesMs = [1, 2, 3, 4, 5, 6].map((second) => NOW_MS - second * 1_000).toReversed();
  const loaded = nodeState({
    record: nodeRecord({
      status: 'unhealthy',
      standing: { sinceMs: NOW_MS - 1_000, reason: 'ssh: gone', evidence: null, changesMs },
    }),
  });

  const step = say(loaded, connected(9));

  t.is(step.state.record.status, 'unhealthy');
  t.deepEqual(ofType(step.effects, 'remind'), [
    { type: 'remind', key: 'damping', afterMs: 30_000, message: { type: 'status-lasted' } },
  ]);
});

test('an admin that stood still, or whose reminder comes late, gives agents the time to come back', (t) => {
  const gone = say(liveNode(), disconnected(NOW_MS - 60_000, true));
  const late = say(gone.state, { type: 'silence-elapsed', dueMs: NOW_MS }, NOW_MS + 60_000);

  const reminder = (nowMs: number) => [
    {
      type: 'remind',
      key: 'silence',
      afterMs: AGENT_RETURN_MS_MAX,
      message: { type: 'silence-elapsed', dueMs: nowMs + AGENT_RETURN_MS_MAX },
    },
  ];
  t.deepEqual(gone.effects, reminder(NOW_MS) as never);
  t.deepEqual([late.changes, late.effects], [[], reminder(NOW_MS + 60_000) as never]);
});
