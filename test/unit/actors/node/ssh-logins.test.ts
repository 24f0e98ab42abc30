/** SSH logins at a node: who is asked about what, and what is told before and after it is stored. */
import test from 'ava';
import { z } from 'zod';
import type { NodeState } from '../../../../actors/node/state.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import { SSH_DECIDED_MS_MAX, type SshOutcome, SSH_UNANSWERED_MS_MAX } from '../../../../actors/ssh/login-attempts.ts';
import { id, liveNode, NODE, nodeState, NOW_MS, session } from '../../../support/actors.ts';
import { USERNAME, GRANT, YES, UNKNOWN, key, attempted, verified, after, verdicts, said } from './ssh-fixture.ts';
import { behaviour } from './fixture.ts';
import { column } from '../../../support/database/columns.ts';
import { ofType } from '../../../support/steps.ts';

const WRONG: SshOutcome = { sshUsername: USERNAME, grant: null };

test('an attempt is asked about, and nothing is told or stored yet', (t) => {
  const { effects, changes } = after(liveNode(), attempted(7));

  t.deepEqual(effects, [
    { type: 'verify-ssh', session: session(1), attempt: 7, username: 'ada', credential: key('verified') },
  ]);
  t.deepEqual(changes, []);
});

test('an outcome is stored with its event, and the agent hears of it only behind that', (t) => {
  const event = (outcome: object) => ({
    type: 'edge.ssh_username.verified',
    subject: NODE,
    atMs: NOW_MS,
    data: { node_id: NODE, username: 'ada', verified_at: new Date(NOW_MS).toISOString(), ...outcome },
  });
  const cases: readonly (readonly [SshOutcome, object, boolean])[] = [
    [YES, { ssh_username_id: USERNAME, cluster_name: 'factory', auth_method: 'public_key', result: 'success' }, true],
    [
      WRONG,
      { ssh_username_id: USERNAME, cluster_name: 'factory', auth_method: 'public_key', result: 'failure' },
      false,
    ],
    [UNKNOWN, { ssh_username_id: null, cluster_name: null, auth_method: 'unknown', result: 'failure' }, false],
  ];
  for (const [outcome, told, accepted] of cases) {
    const {
      changes: [change, ...more],
      effects,
    } = after(liveNode(), attempted(7), verified(7, outcome));

    t.deepEqual<unknown, unknown>(change?.events, [event(told)]);
    t.deepEqual<unknown, unknown>(change?.write, {
      kind: 'ssh-verified',
      node: NODE,
      session: session(1),
      attempt: 7,
      tried: { username: 'ada', method: 'public_key' },
      sshUsername: outcome.sshUsername,
      grant: outcome.grant,
      atMs: NOW_MS,
    });
    t.deepEqual(verdicts(change?.onceStored ?? []), [[session(1), 7, accepted]]);
    t.deepEqual([more, effects], [[], []]);
  }
});

test('a probe that would do is told to sign and is no login; one that would not is a failed one', (t) => {
  const would = after(liveNode(), attempted(7, key('none')), verified(7, YES));
  const not = after(liveNode(), attempted(7, key('none')), verified(7, WRONG));

  t.deepEqual([would.changes, verdicts(would.effects)], [[], [[session(1), 7, true]]]);
  t.is(not.changes.length, 1);
});

test('an outcome that nobody knows is not told: the agent refuses by itself, and may ask again', (t) => {
  const { state, changes, effects } = after(liveNode(), attempted(7), verified(7, null));

  t.deepEqual([changes, effects], [[], []]);
  t.is(after(state, attempted(7)).effects.length, 1);
});

test('an attempt that is decided too late is refused, as the agent has given up on it', (t) => {
  const asked = after(liveNode(), attempted(7)).state;

  for (const [lateMs, result] of [
    [SSH_DECIDED_MS_MAX, 'success'],
    [SSH_DECIDED_MS_MAX + 1, 'failure'],
  ] as const) {
    const {
      changes: [change],
    } = behaviour.transition(asked, verified(7, YES), NOW_MS + lateMs);
    t.is((change?.events[0]?.data as { result?: string } | undefined)?.result, result);
    t.deepEqual(verdicts(change?.onceStored ?? []), [[session(1), 7, result === 'success']]);
  }
});

test('what comes of an older session, or of nothing that was asked, is ignored', (t) => {
  const state = liveNode();

  for (const message of [
    attempted(1, key('verified'), 2),
    verified(1, YES),
    verified(1, YES, 2),
    { type: 'ssh-grants-reported', session: session(2), grants: [GRANT] },
    { type: 'ssh-grants-checked', session: session(2), sshUsernames: [USERNAME], sshPublicKeys: [] },
  ] satisfies NodeMessage[]) {
    t.deepEqual(behaviour.transition(state, message, NOW_MS), { state, changes: [], effects: [] });
    t.deepEqual(behaviour.transition(nodeState(), message, NOW_MS).effects, []);
  }
  t.deepEqual(after(liveNode(), attempted(7), attempted(7)).effects, [], 'the first one answers for both');
});

test('a login whose username went meanwhile is stored as a failed one, and refused', (t) => {
  const {
    changes: [change],
  } = after(liveNode(), attempted(7), verified(7, YES));
  if (change === undefined) throw new Error('nothing was stored');

  const {
    changes: [second, ...more],
    effects,
  } = after(liveNode(), { type: 'refused', write: change.write, refusal: { code: 'conflict', message: 'gone' } });

  t.deepEqual(
    [
      (second?.events[0]?.data as { result?: string } | undefined)?.result,
      verdicts(second?.onceStored ?? []),
      more,
      effects,
    ],
    ['failure', [[session(1), 7, false]], [], []],
  );
  t.is(second?.write.kind === 'ssh-verified' ? second.write.grant : undefined, null);
});

test('logins that no admin answered are events of their own time, each confirmed once it is stored', (t) => {
  const logins = [
    { id: 'id-1', username: 'ada', method: 'password', ms_ago: 61_000 },
    { id: 'id-2', username: 'eve\0', method: 'public_key', ms_ago: Number.MAX_SAFE_INTEGER },
  ] as const;

  const { changes, effects } = after(liveNode(), { type: 'ssh-unanswered-reported', session: session(1), logins });

  t.deepEqual(
    changes.map(({ events: [event], onceStored }) => [
      event?.atMs,
      said(event?.data)['username'],
      said(event?.data)['result'],
      onceStored,
    ]),
    [
      [
        NOW_MS - 61_000,
        'ada',
        'failure',
        [{ type: 'send', session: session(1), frame: { type: 'ssh-unanswered-stored', ids: ['id-1'] } }],
      ],
      [
        NOW_MS - SSH_UNANSWERED_MS_MAX,
        'eve\uFFFD',
        'failure',
        [{ type: 'send', session: session(1), frame: { type: 'ssh-unanswered-stored', ids: ['id-2'] } }],
      ],
    ] as never,
  );
  t.deepEqual(ofType(effects, 'send'), []);
});

test('a login that no admin answered has the same id each time that it is told of, and no other login or node has it', (t) => {
  const idsOf = (state: NodeState, ...logins: readonly string[]) =>
    behaviour
      .transition(
        state,
        {
          type: 'ssh-unanswered-reported',
          session: session(1),
          logins: logins.map((login) => ({ id: login, username: 'ada', method: 'password', ms_ago: 61_000 })),
        },
        NOW_MS,
      )
      .changes.flatMap(({ events }) => column(events, 'id'));
  const other = liveNode([], { record: { ...liveNode().record, id: id<NodeId>('a', 2) } });

  const [first, second, ...more] = idsOf(liveNode(), 'id-1', 'id-2');

  t.deepEqual(idsOf(liveNode(), 'id-1'), [first]);
  t.is(new Set([first, second, ...idsOf(other, 'id-1')]).size, 3);
  t.deepEqual(more, []);
  t.true(z.uuidv4().safeParse(first).success);
});
