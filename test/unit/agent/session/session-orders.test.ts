/** A session that doubts its admin, whatever that one and the others do, in whatever order. */
import test from 'ava';
import { CLOSE } from '../../../../transport/protocol/close-codes.ts';
import { A, B, C, count, doubting, welcome, welcomeFrame } from '../../../support/agent/doubting-session.ts';
import type { FakeLink } from '../../../support/agent/session-fixture.ts';

/** What may happen to a doubting session. `links` are the first one and the last one beside it. */
const EVENTS: Readonly<Record<string, (fixture: ReturnType<typeof doubting>, beside: FakeLink | null) => unknown>> = {
  pong: ({ link }) => link(0).hear({ type: 'pong' }),
  end: ({ link }) => link(0).hangUp(1006),
  replaced: ({ link }) => link(0).hangUp(CLOSE.replaced),
  open: (_fixture, beside) => beside?.frames.length === 0 && beside.open(),
  welcome: (_fixture, beside) => beside && beside.hear(welcomeFrame()),
  refused: (_fixture, beside) => beside?.hangUp(CLOSE.elsewhere, A),
  sent: (_fixture, beside) => beside?.hangUp(CLOSE.elsewhere, C),
  gone: (_fixture, beside) => beside?.hangUp(1006),
  time: ({ clock }) => clock.pass(1_100),
};

/** All sequences of so many of them. */
function* orders(length: number): Generator<readonly string[]> {
  if (length === 0) yield [];
  else for (const order of orders(length - 1)) for (const name of Object.keys(EVENTS)) yield [...order, name];
}

test('in whatever order both admins speak, close and are silent, one connection is believed and one timer runs', (t) => {
  let all = 0;
  for (const order of orders(4)) {
    const fixture = doubting([A, B, C]);
    const { links, clock, session } = fixture;
    for (const name of order) EVENTS[name]?.(fixture, links.length > 1 ? (links.at(-1) ?? null) : null);
    const before = links.map((link) => count(link, 'report'));
    session.reportNow();
    const believed = links.filter((link, index) => count(link, 'report') > (before[index] ?? 0));
    const problem =
      believed.length !== (session.isLive ? 1 : 0)
        ? 'reports'
        : clock.waiting() > 1
          ? 'timers'
          : believed[0]?.isTerminated;
    if (problem !== undefined && problem !== false) t.fail(`${order.join(', ')}: ${problem}`);
    // Whatever happened, an admin that takes the node gets it.
    for (let tries = 0; tries < 20 && !session.isLive; tries += 1) {
      clock.pass(30_000);
      const last = links.at(-1);
      if (last !== undefined && !last.isTerminated && last.frames.length === 0) welcome(last);
    }
    if (!session.isLive) t.fail(`${order.join(', ')}: never live again`);
    all += 1;
  }

  t.is(all, 9 ** 4);
});
