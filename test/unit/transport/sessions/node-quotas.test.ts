/** What a node may cost over all of its sessions (L1). */
import test from 'ava';
import { WebSocket } from 'ws';
import {
  FRAMES_PER_SECOND_MAX,
  QUOTA_KEPT_MS,
  SESSIONS_BURST_MAX,
  SESSIONS_PER_SECOND_MAX,
} from '../../../../transport/sessions/limits.ts';
import { createNodeQuotas } from '../../../../transport/sessions/node-quotas.ts';
import { OVER_WITHIN_MS, WINDOW_SECONDS } from '../../../../transport/net/frame-window.ts';
import { NODE } from '../../../support/actors.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';
import { openGate } from './fixture.ts';

test.serial('a node that was cut for a flood does not begin anew with its next session (L1)', async (t) => {
  const clock = createFakeClock();
  const fixture = await openGate(t, { clock });
  const flooder = await fixture.live();
  for (let index = 0; index < FRAMES_PER_SECOND_MAX * WINDOW_SECONDS; index += 1) flooder.send({ type: 'ping' });
  t.like(await flooder.closed(), { code: 4008 });

  const again = fixture.dial();
  await again.opened();
  again.hello();
  t.deepEqual(await again.closed(), { code: 4008, reason: `more than ${FRAMES_PER_SECOND_MAX} frames a second` });

  clock.pass(1_000 * WINDOW_SECONDS);
  const later = await fixture.live();
  later.send({ type: 'ping' });
  await until('it is served when its share is there again', () => later.frames.length === 1);
});

test('whoever keeps above the share of a node is over it within 2 s, however little above (L1)', (t) => {
  for (const share of [1.01, 1.1, 1.5, 2, 10]) {
    const quota = createNodeQuotas().of(NODE, 0);
    const gapMs = 1_000 / (FRAMES_PER_SECOND_MAX * share);
    let sent = 0;
    while (sent * gapMs < 60_000 && quota.takeFrame(sent * gapMs)) sent += 1;

    t.true(sent * gapMs <= OVER_WITHIN_MS, `${share} of its share: over it after ${sent * gapMs} ms`);
  }
});

test.serial(
  'a node that begins too many sessions is cut (4008), logged once, not looked up, and let in at its pace (L1)',
  async (t) => {
    const clock = createFakeClock();
    let lookUps = 0;
    const fixture = await openGate(t, {
      clock,
      gate: {
        owns: () => {
          lookUps += 1;
          return true;
        },
      },
    });
    for (let begun = 0; begun < SESSIONS_BURST_MAX; begun += 1) await fixture.live();

    const end = await fixture.dial().closed();
    const before = lookUps;
    const statuses = [await fixture.dial().refused(), await fixture.dial().refused()].map(({ status }) => status);
    const looked = lookUps - before;
    const another = await fixture.live(2);
    clock.pass(1_000 / SESSIONS_PER_SECOND_MAX);
    const later = await fixture.live();

    t.deepEqual(
      [end, statuses, looked],
      [{ code: 4008, reason: 'it begins sessions faster than any agent' }, [429, 429], 0],
    );
    t.is(fixture.log.lines.filter(({ level }) => level === 'warn').length, 1);
    t.is(fixture.messages('agent-connected').length, SESSIONS_BURST_MAX + 2);
    t.deepEqual(
      [another, later].map(({ socket }) => socket.readyState),
      [WebSocket.OPEN, WebSocket.OPEN],
    );
  },
);

test('the quota of a node that is not heard any more is forgotten once it is whole again', (t) => {
  const quotas = createNodeQuotas();
  const quota = quotas.of(NODE, 0);
  for (let begun = 0; begun <= SESSIONS_BURST_MAX; begun += 1) quota.takeSession(0);

  quotas.sweep(QUOTA_KEPT_MS);
  t.is(quotas.of(NODE, QUOTA_KEPT_MS), quota);
  t.true(QUOTA_KEPT_MS >= (SESSIONS_BURST_MAX / SESSIONS_PER_SECOND_MAX) * 1_000);

  quotas.sweep(QUOTA_KEPT_MS + 1);
  t.is(quotas.size, 0);
});
