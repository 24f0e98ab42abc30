/** A self-update request with the effects that count its nodes, where a count fails. */
import test from 'ava';
import type { Change } from '../../../actors/step.ts';
import { COUNT_AGAIN_MS } from '../../../actors/self-update/limits.ts';
import type { SelfUpdateMessage } from '../../../actors/self-update/messages.ts';
import { uncounted } from '../../../actors/self-update/state.ts';
import { selfUpdateBehaviour } from '../../../actors/self-update/transition.ts';
import { domainPerformers, type DomainPorts } from '../../../supervisors/effects.ts';
import { Performer, type EffectPorts } from '../../../supervisors/runtime/perform.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { silentLog } from '../../support/log.ts';
import { counted, selfUpdateRecord } from '../../support/self-updates.ts';
import { until } from '../../support/until.ts';

test('a count that fails is tried again after a second, and the request is completed all the same', async (t) => {
  const clock = createFakeClock();
  const request = selfUpdateRecord();
  const stored: Change[] = [];
  let counts = 0;
  const loader = {
    async countSelfUpdate() {
      counts += 1;
      await Promise.resolve();
      if (counts === 1) throw new Error('canceling statement due to conflict with recovery');
      return counted({ triggered: 1 }, { status: 'processing', revision: counts });
    },
  };
  let state = uncounted(request.id, request);
  const say = (message: SelfUpdateMessage): true => {
    const next = selfUpdateBehaviour.transition(state, message, clock.nowMs());
    state = next.state;
    stored.push(...next.changes);
    performer.perform(next.effects, clock.nowMs());
    return true;
  };
  const performer = new Performer({ kind: 'self-update', id: request.id }, {
    clock,
    log: silentLog,
    domains: domainPerformers({ loader } as unknown as DomainPorts),
    tell: ({ message }: { readonly message: SelfUpdateMessage }) => say(message),
  } as unknown as EffectPorts);

  performer.perform(selfUpdateBehaviour.recoveryEffects(state, clock.nowMs()), clock.nowMs());
  await until('it waits', () => clock.waiting() === 1);
  clock.pass(COUNT_AGAIN_MS - 1);
  say({ type: 'nodes-changed' }); // news of nodes have it counted no earlier
  t.is(counts, 1);
  clock.pass(1);
  await until('it is completed', () => stored.length > 0);

  t.is(counts, 2);
  t.like(stored[0], { write: { kind: 'self-update-moved', move: { type: 'complete' } } });
});
