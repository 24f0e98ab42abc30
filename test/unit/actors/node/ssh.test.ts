/**
 * SSH at a node: who is asked about what, what is told before and after it is stored, and how much of it there may be.
 */
import test from 'ava';
import * as fc from 'fast-check';
import type { Effect, Step } from '../../../../actors/step.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import {
  SSH_ATTEMPTS_BURST_MAX,
  SSH_ATTEMPTS_PER_SECOND,
  SSH_ATTEMPTS_VERIFYING_MAX,
  SSH_DECIDED_MS_MAX,
  type SshOutcome,
  SSH_REFUSALS_TOLD_BURST_MAX,
  SSH_UNANSWERED_MS_MAX,
} from '../../../../actors/ssh/login.ts';
import { SSH_GRANTS_MAX } from '../../../../transport/protocol/limits.ts';
import type { SshCredential } from '../../../../transport/protocol/ssh.ts';
import { REPLY_TO, id, liveNode, NODE, nodeState, NOW_MS, session, SETTINGS } from '../../../support/actors.ts';

const behaviour = nodeBehaviour(SETTINGS);
const USERNAME = id('a', 9);
const KEY = id('a', 10);
const GRANT = { ssh_username_id: USERNAME, ssh_public_key_id: KEY };
const YES: SshOutcome = { sshUsername: USERNAME, grant: GRANT };
const WRONG: SshOutcome = { sshUsername: USERNAME, grant: null };
const UNKNOWN: SshOutcome = { sshUsername: null, grant: null };

const key = (signature: 'none' | 'verified' | 'wrong'): SshCredential => ({
  method: 'public_key',
  blob: 'QUJD',
  signature,
});
const attempted = (attempt: number, credential: SshCredential = key('verified'), of = 1): NodeMessage => ({
  type: 'ssh-attempted',
  session: session(of),
  attempt,
  username: 'ada',
  credential,
});
const verified = (attempt: number, outcome: SshOutcome | null, of = 1): NodeMessage => ({
  type: 'ssh-verified',
  session: session(of),
  attempt,
  outcome,
});

function after(state: NodeState, ...messages: readonly NodeMessage[]): Step<NodeState> {
  let last: Step<NodeState> = { state, changes: [], effects: [] };
  for (const message of messages) last = behaviour.transition(last.state, message, NOW_MS);
  return last;
}

function verdicts(effects: readonly Effect[]): readonly unknown[] {
  return effects.flatMap((effect) =>
    effect.type === 'send' && effect.frame.type === 'ssh-verdict'
      ? [[effect.session, effect.frame.attempt, effect.frame.verdict.accepted]]
      : [],
  );
}

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

test('a deletion ends what it opened, on the session of now, behind the commit', (t) => {
  const endings = (step: Step<NodeState>) => step.effects.filter((effect) => effect.type === 'send');

  t.deepEqual(endings(after(liveNode(), { type: 'delete-ssh-username', replyTo: REPLY_TO, id: USERNAME })), [
    {
      type: 'send',
      session: session(1),
      frame: { type: 'end-ssh', ssh_username_ids: [USERNAME], ssh_public_key_ids: [] },
    },
  ]);
  t.deepEqual(endings(after(liveNode(), { type: 'delete-ssh-public-key', replyTo: REPLY_TO, id: KEY })), [
    { type: 'send', session: session(1), frame: { type: 'end-ssh', ssh_username_ids: [], ssh_public_key_ids: [KEY] } },
  ]);
  t.deepEqual(endings(after(nodeState(), { type: 'delete-ssh-username', replyTo: REPLY_TO, id: USERNAME })), []);
});

test('what sessions were opened by is looked for when an agent tells, and whenever a write is in doubt', (t) => {
  const reported = after(liveNode(), { type: 'ssh-grants-reported', session: session(1), grants: [GRANT] });
  t.deepEqual(reported.effects, [{ type: 'check-ssh-grants', session: session(1), grants: [GRANT] }]);
  const { state } = after(
    reported.state,
    attempted(7, { method: 'password', password: 'x' }),
    verified(7, { sshUsername: USERNAME, grant: { ssh_username_id: USERNAME, ssh_public_key_id: null } }),
    attempted(8),
    verified(8, YES),
  );

  t.deepEqual(
    behaviour
      .recoveryEffects(behaviour.refreshed(state, nodeState()), NOW_MS)
      .filter((effect) => effect.type === 'check-ssh-grants'),
    [
      {
        type: 'check-ssh-grants',
        session: session(1),
        grants: [{ ssh_username_id: USERNAME, ssh_public_key_id: null }, GRANT],
      },
    ],
  );
  t.deepEqual(
    behaviour.recoveryEffects(liveNode(), NOW_MS).filter((effect) => effect.type === 'check-ssh-grants'),
    [],
  );
  t.deepEqual(
    after(state, { type: 'ssh-grants-checked', session: session(1), sshUsernames: [], sshPublicKeys: [KEY] }).effects,
    [
      {
        type: 'send',
        session: session(1),
        frame: { type: 'end-ssh', ssh_username_ids: [], ssh_public_key_ids: [KEY] },
      },
    ],
  );
  t.deepEqual(
    after(state, { type: 'ssh-grants-checked', session: session(1), sshUsernames: [], sshPublicKeys: [] }).effects,
    [],
  );
});

test(`no more than ${SSH_GRANTS_MAX} grants are remembered, the latest ones`, (t) => {
  const grant = (number: number) => ({ ssh_username_id: id('a', number), ssh_public_key_id: null });
  const { state } = after(
    liveNode(),
    ...Array.from({ length: 3 }, (_, part): NodeMessage => ({
      type: 'ssh-grants-reported',
      session: session(1),
      grants: Array.from({ length: 100 }, (_one, index) => grant(part * 100 + index)),
    })),
  );

  const [effect] = behaviour.recoveryEffects(state, NOW_MS);
  t.deepEqual(
    effect?.type === 'check-ssh-grants' ? effect.grants : null,
    Array.from({ length: SSH_GRANTS_MAX }, (_, index) => grant(300 - SSH_GRANTS_MAX + index)),
  );
});

test('who gets in uses up nothing, with as many logins a second as they like; who only probes does', (t) => {
  let state = liveNode();
  for (let attempt = 1; attempt <= 10 * SSH_ATTEMPTS_BURST_MAX; attempt += 2) {
    const probed = after(state, attempted(attempt, key('none')), verified(attempt, YES));
    const signed = after(probed.state, attempted(attempt + 1), verified(attempt + 1, YES));
    t.deepEqual(
      [verdicts(probed.effects), verdicts(signed.changes[0]?.onceStored ?? [])],
      [[[session(1), attempt, true]], [[session(1), attempt + 1, true]]],
    );
    state = signed.state;
  }
  const outcomes = Array.from({ length: SSH_ATTEMPTS_BURST_MAX + 1 }, (_, index) => {
    const probed = after(state, attempted(index + 1, key('none')), verified(index + 1, YES));
    state = probed.state;
    return verdicts(probed.effects).length;
  });

  t.is(outcomes.filter((told) => told === 1).length, SSH_ATTEMPTS_BURST_MAX);
});

test(`${SSH_ATTEMPTS_VERIFYING_MAX} attempts are verified at a time, and a new session starts with none`, (t) => {
  const attempts = Array.from({ length: SSH_ATTEMPTS_VERIFYING_MAX }, (_, index) => attempted(index + 1));
  const { state } = after(liveNode(), ...attempts);
  const more = after(state, attempted(99));

  t.deepEqual([verdicts(more.effects), more.effects.at(-1)], [[[session(1), 99, false]], { type: 'limit-ssh' }]);
  t.is(more.state.session, state.session);
  t.is(after(state, verified(1, UNKNOWN), attempted(99)).effects[0]?.type, 'verify-ssh');
});

test('a node is looked at for as many attempts as its allowance gives, whatever the pace and however often it reconnects', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ waitMs: fc.oneof(fc.constant(0), fc.nat(3_000)), reconnects: fc.boolean() }), {
        minLength: 1,
        maxLength: 400,
      }),
      (happenings) => {
        let state = liveNode();
        let nowMs = NOW_MS;
        let looked = 0;
        for (const [index, { waitMs, reconnects }] of happenings.entries()) {
          nowMs += waitMs;
          if (reconnects && state.session !== null)
            state = { ...state, session: { ...state.session, ssh: { ...state.session.ssh, attempts: new Map() } } };
          const asked = behaviour.transition(state, attempted(index + 1), nowMs);
          if (asked.effects[0]?.type === 'verify-ssh') looked += 1;
          state = behaviour.transition(asked.state, verified(index + 1, null), nowMs).state;
        }
        const given = SSH_ATTEMPTS_BURST_MAX + ((nowMs - NOW_MS) * SSH_ATTEMPTS_PER_SECOND) / 1_000;
        t.true(looked <= given && looked >= Math.min(happenings.length, SSH_ATTEMPTS_BURST_MAX));
      },
    ),
    { numRuns: 200 },
  );
});

test('a clock that was set back by hours shuts nobody out for as long as that', (t) => {
  let state = liveNode();
  for (let tried = 1; tried <= SSH_ATTEMPTS_BURST_MAX; tried += 1) {
    const asked = behaviour.transition(state, attempted(tried), NOW_MS);
    ({ state } = behaviour.transition(asked.state, verified(tried, null), NOW_MS));
  }
  const backMs = NOW_MS - 36_000_000;

  const refused = behaviour.transition(state, attempted(1_000), backMs);
  const looked = behaviour.transition(refused.state, attempted(1_001), backMs + 1_000 / SSH_ATTEMPTS_PER_SECOND);

  t.deepEqual([refused.effects[0]?.type, looked.effects[0]?.type], ['send', 'verify-ssh']);
});

test('a login that is refused without a look is an event all the same, a question is none, and a flood of them is bounded', (t) => {
  const attempts = Array.from({ length: SSH_ATTEMPTS_VERIFYING_MAX }, (_, index) => attempted(index + 1));
  const full = after(liveNode(), ...attempts).state;

  const refused = after(full, attempted(99));
  const asked = after(full, attempted(99, key('none')));
  let [state, told] = [full, 0];
  for (let count = 0; count < SSH_REFUSALS_TOLD_BURST_MAX + 50; count += 1) {
    const next = after(state, attempted(100 + count));
    told += next.changes.length;
    ({ state } = next);
  }

  t.deepEqual(
    refused.changes.flatMap(({ events }) =>
      events.map(({ type, data }) => [
        type,
        said(data)['result'],
        said(data)['auth_method'],
        said(data)['ssh_username_id'],
      ]),
    ),
    [['edge.ssh_username.verified', 'failure', 'unknown', null]],
  );
  t.deepEqual(asked.changes, []);
  t.is(told, SSH_REFUSALS_TOLD_BURST_MAX);
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
  t.deepEqual(
    effects.filter(({ type }) => type === 'send'),
    [],
  );
});

/** Fields of an event's data, whatever its type. */
function said(data: unknown): Readonly<Record<string, unknown>> {
  return data as Readonly<Record<string, unknown>>;
}
