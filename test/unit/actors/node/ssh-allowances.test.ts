/** How many SSH logins a node is looked at for. */
import test from 'ava';
import * as fc from 'fast-check';
import {
  SSH_ATTEMPTS_BURST_MAX,
  SSH_ATTEMPTS_PER_SECOND,
  SSH_ATTEMPTS_VERIFYING_MAX,
  SSH_REFUSALS_TOLD_BURST_MAX,
} from '../../../../actors/ssh/login-attempts.ts';
import { liveNode, NOW_MS, session } from '../../../support/actors.ts';
import { YES, UNKNOWN, key, attempted, verified, after, verdicts, said } from './ssh-fixture.ts';
import { behaviour } from './fixture.ts';

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

test('a login refused without a check is still an event, a key query is none, and a flood of refusals is bounded', (t) => {
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
