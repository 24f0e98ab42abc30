/** A session whose admin says nothing, though its connection stands: it asks another one beside, and loses nothing. */
import { readFileSync } from 'node:fs';
import test from 'ava';
import { registrationOf } from '../../../../agent/config.ts';
import { BESIDE_HANDSHAKE_MS_MAX } from '../../../../agent/session/suspicion.ts';
import { CLOSE, DELETED_REASON } from '../../../../transport/protocol/close-codes.ts';
import { agentConfig } from '../../../support/agent/agent-config.ts';
import { A, B, C, count, doubting, PEERED, welcome, welcomeFrame } from '../../../support/agent/doubting-session.ts';
import {
  delivery,
  executionId,
  SETTINGS,
  sessionFixture,
  type FakeLink,
} from '../../../support/agent/session-fixture.ts';
import { column } from '../../../support/database/columns.ts';

/** Of an admin before version 9, byte for byte. */
const { text: recordedWelcome } = JSON.parse(
  readFileSync(new URL('../../transport/protocol/recordings/v8/admin-welcome.json', import.meta.url), 'utf8'),
) as { readonly text: string };

const urlsOf = (links: readonly FakeLink[]) => column(links, 'url');

test('an admin that knows others is pinged every 3.3 s, reported to every 10 s, and given up after 20 s as any', (t) => {
  const { clock, link, links } = sessionFixture({ adminUrls: () => [A] });
  welcome(link());
  for (let ms = 0; ms < 100_000; ms += 1_000) {
    clock.pass(1_000);
    link().hear({ type: 'pong' });
  }

  t.is(count(link(), 'ping'), 30);
  t.is(count(link(), 'report'), 10);
  t.is(clock.waiting(), 1, 'one timer a session');
  clock.pass(19_999);
  t.false(link(0).isTerminated);
  clock.pass(1);
  t.true(link(0).isTerminated);
  t.is(links.length, 1, 'nobody else is known');
});

test('another admin is asked beside a silent one, which is hung up on once the other one welcomes', (t) => {
  const { clock, link, links, journal, counters, runner, session, lines } = doubting();
  journal.receive([delivery(1)]);

  t.deepEqual(urlsOf(links), [A, B]);
  t.is(link(1).handshakeMsMax, BESIDE_HANDSHAKE_MS_MAX);
  t.false(link(0).isTerminated);
  t.true(session.isLive);
  link(1).open();
  t.like(link(1).frames[0], { type: 'hello', holding: [executionId(1)] });
  journal.finish(executionId(1));
  session.finished([executionId(1)]);
  t.false(link(0).isTerminated, 'not before the other one takes the node');
  link(1).hear(welcomeFrame());

  t.true(link(0).isTerminated);
  t.true(session.isLive);
  t.deepEqual([count(link(0), 'result'), count(link(1), 'result')], [1, 1], 'what nobody confirmed is said again');
  t.deepEqual([counters.dials, counters.welcomes], [2, 2]);
  t.is(clock.waiting(), 1, 'one timer a session');
  link(0).hear({ type: 'deliver', deliveries: [delivery(2)] });
  link(0).hangUp(1006);
  t.deepEqual(runner.asked, [], 'the silent one is not heard any more');
  clock.pass(3_300);
  t.is(count(link(1), 'ping'), 1);
  t.is(links.length, 2);
  t.deepEqual(lines, [
    'Connected',
    'The admin is silent: another one is asked meanwhile',
    'The session ended: the admin is silent, and another one took over',
    'Connected',
  ]);
});

test('an admin that speaks again before the other one welcomes keeps the session', (t) => {
  for (const hasOpened of [false, true]) {
    const { clock, link, links, session } = doubting();
    if (hasOpened) link(1).open();

    link(0).hear({ type: 'pong' });

    t.true(link(1).isTerminated);
    t.false(link(0).isTerminated);
    link(1).hangUp(1006);
    t.true(session.isLive);
    for (let ms = 0; ms < 20_000; ms += 1_000) {
      clock.pass(1_000);
      link(0).hear({ type: 'pong' });
    }
    t.is(links.length, 2);
  }
});

test('a session that an admin ended for a newer one of this very agent is not taken for that of another agent', (t) => {
  const replaced: number[] = [];
  const fixture = () => doubting([A, B], PEERED, { onReplaced: () => replaced.push(1) });
  const underWay = fixture(); // two names of one admin, which heard the newer hello first
  underWay.link(1).open();
  underWay.link(0).hangUp(CLOSE.replaced);
  underWay.link(1).hear(welcomeFrame());
  const dropped = fixture();
  dropped.link(1).open();
  dropped.link(0).hear({ type: 'pong' });
  dropped.link(0).hangUp(CLOSE.replaced);
  dropped.clock.pass(500);
  const foreign = fixture(); // nothing was said on the second connection
  foreign.link(0).hangUp(CLOSE.replaced);
  foreign.clock.pass(29_999);

  t.true(underWay.session.isLive);
  t.is(underWay.links.length, 2);
  t.is(dropped.links.length, 3);
  t.true(foreign.link(1).isTerminated);
  t.is(foreign.links.length, 2);
  t.deepEqual(replaced, [1]);
});

test('as long as the others name the silent admin as the owner, it is kept, and they are asked again later', (t) => {
  const { clock, link, links, session } = doubting();
  const times: number[] = [];
  for (let ms = 0; ms < 8_000; ms += 100) {
    if (links.length > times.length + 1) {
      times.push(ms);
      link().open();
      link().hangUp(CLOSE.elsewhere, `${A}/`);
    }
    clock.pass(100);
  }

  t.deepEqual(times, [0, 1_000, 3_000, 7_000]);
  t.true(session.isLive);
  t.false(link(0).isTerminated);
});

test('an admin to which another one sends the node is asked at once', (t) => {
  const { clock, link, links } = doubting();
  link(1).open();
  link(1).hangUp(CLOSE.elsewhere, C);
  clock.pass(1);
  welcome(link(2));

  t.deepEqual(urlsOf(links), [A, B, C]);
  t.true(link(0).isTerminated);
});

test('where what is no admin answers for the one to which another one sends the node, it is not sent there again', (t) => {
  const { clock, link, links } = doubting([A, B]);
  const sendOn = () => {
    link().open();
    link().hangUp(CLOSE.elsewhere, C);
  };
  sendOn();
  clock.pass(1);
  link().hangUp(404, 'it answered 404');
  clock.pass(1_000);
  sendOn();
  clock.pass(1);

  t.deepEqual(urlsOf(links), [A, B, C, B]);
});

test('the admin to which another one sends the node is asked again where it had no room, started or ended just then', (t) => {
  for (const code of [503, 500, 429, 1_011, CLOSE.shuttingDown]) {
    const { clock, link, links } = doubting([A, B]);
    const sendOn = () => {
      link().open();
      link().hangUp(CLOSE.elsewhere, C);
      clock.pass(1);
    };
    sendOn();
    link().hangUp(code, `it answered ${code}`);
    clock.pass(1_000);
    sendOn();

    t.deepEqual(urlsOf(links), [A, B, C, B, C], String(code));
  }
});

test('the next of several others is asked at once where one is not there', (t) => {
  const { clock, link, links } = doubting([A, B, C]);
  link(1).hangUp(1006, 'connection refused');
  clock.pass(1);

  t.deepEqual(urlsOf(links), [A, B, C]);
});

test('what is under way beside goes on when the silent connection ends, and the silent admin is dialled last', (t) => {
  const { clock, link, links, lines, session } = doubting([A, B, C]);
  link(0).hangUp(1006, 'read ECONNRESET');
  t.false(session.isLive);
  t.is(lines.at(-1), 'The session ended');
  clock.pass(500);
  t.is(links.length, 2, 'nobody else is dialled');
  link(1).hangUp(1006, 'timed out');
  clock.pass(500);
  link(2).hangUp(1006, 'connection refused');
  clock.pass(500);
  welcome(link(3));
  link(3).hangUp(CLOSE.shuttingDown);
  clock.pass(500);

  t.deepEqual(urlsOf(links), [A, B, C, A, A], 'it is as good as any once it has answered');
});

test('a silent admin that nobody stands in for is given up after 20 s, and dialled last', (t) => {
  const { clock, link, links } = doubting([A, B]);
  while (!link(0).isTerminated) {
    if (links.length > 1) link().hangUp(1006, 'timed out');
    clock.pass(100);
  }
  const known = links.length;
  clock.pass(500);

  t.deepEqual(urlsOf(links.slice(known)), [B]);
});

test('a node that was deleted meanwhile ends, whichever admin says so', (t) => {
  let deletions = 0;
  const { clock, link, links } = doubting([A, B], PEERED, { onRevoked: () => (deletions += 1) });
  link(1).open();
  link(1).hangUp(CLOSE.revoked, DELETED_REASON);
  clock.pass(3_600_000);

  t.is(deletions, 1);
  t.true(link(0).isTerminated);
  t.is(links.length, 2);
  t.is(clock.waiting(), 0);
});

test('an agent that stops leaves both', (t) => {
  const { clock, link, session } = doubting();
  link(1).open();
  session.stop();

  t.is(link(0).closeCode, 1000);
  t.true(link(1).isTerminated);
  t.is(clock.waiting(), 0);
});

test('nobody else is asked with one URL, beside an admin that is alone or of before, or on a metered link', (t) => {
  const metered = registrationOf(agentConfig({ AGENT_METERED: 'true' }), '1.0.0');
  const one = doubting([A, `${A}/`]);
  const alone = doubting([A, B], SETTINGS);
  const before = sessionFixture({ adminUrls: () => [A, B] });
  before.link().open();
  before.link().hearText(recordedWelcome);
  const seldom = doubting([A, B], PEERED, { registration: metered });
  const told = doubting();
  told.link(0).hear({ type: 'settings', settings: SETTINGS }); // it is alone now
  for (const { clock } of [one, alone, told]) clock.pass(13_000);
  before.clock.pass(17_650);
  seldom.clock.pass(60_000);

  t.deepEqual(
    [one, alone, before, seldom].map(({ links }) => links.length),
    [1, 1, 1, 1],
  );
  t.is(told.links.length, 2);
  t.true(told.link(1).isTerminated);
  t.deepEqual([count(alone.link(0), 'ping'), count(before.link(0), 'ping')], [2, 2]);
  t.is(count(seldom.link(0), 'ping'), 1);
});
