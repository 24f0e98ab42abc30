/** Which admin an agent dials, after which wait, and when it gives up. */
import test from 'ava';
import { NODE_DELETED } from '../../../../transport/protocol/version.ts';
import {
  CLOSE,
  DELETED_REASON,
  ENROLLED_AGAIN_REASON,
  RECOVERED_REASON,
} from '../../../../transport/protocol/close-codes.ts';
import { NotingRunner, sessionFixture } from '../../../support/agent/session-fixture.ts';
import { column } from '../../../support/database/columns.ts';

test('admins are tried in order, for ever, with waits that grow by the round up to 30 seconds', (t) => {
  const { clock, links, link } = sessionFixture(
    { adminUrls: () => ['http://a.test', 'http://b.test'] },
    () => 0.999_999,
  );
  const waits: number[] = [];
  for (let attempt = 0; attempt < 40; attempt += 1) {
    const before = links.length;
    link().hangUp(1006, 'connection refused');
    const from = clock.nowMs();
    while (links.length === before) clock.pass(10);
    waits.push(clock.nowMs() - from);
  }

  t.deepEqual(column(links.slice(0, 4), 'url'), ['http://a.test', 'http://b.test', 'http://a.test', 'http://b.test']);
  const rounds = waits.filter((_, index) => index % 2 === 1);
  t.true(rounds.every((wait, index) => index === 0 || wait >= (rounds[index - 1] ?? 0)));
  t.is(Math.max(...waits), 30_000);
  t.true(Math.min(...waits) >= 500);
});

test('a lost session is sought again from the first admin', (t) => {
  const { clock, link } = sessionFixture({ adminUrls: () => ['http://a.test', 'http://b.test'] });
  link().hangUp(1006);
  clock.pass(500);
  t.is(link().url, 'http://b.test');
  link().welcome();

  link().hangUp(CLOSE.shuttingDown);
  clock.pass(500);

  t.is(link().url, 'http://a.test');
});

test('an agent that is replaced by a newer session waits the longest before it tries again, and says so', (t) => {
  const { clock, link, links, lines } = sessionFixture();
  link().welcome();

  link().hangUp(CLOSE.replaced);
  clock.pass(29_999);
  t.is(links.length, 1);
  clock.pass(1);

  t.is(links.length, 2);
  t.true(lines.some((line) => line.includes('newer session')));
});

for (const [what, reason, wasDeleted] of [
  ['is deleted', DELETED_REASON, true],
  ['another machine has become', RECOVERED_REASON, false],
] as const)
  test(`an agent whose node ${what} never dials again`, (t) => {
    const ends: boolean[] = [];
    const { clock, link, links } = sessionFixture({ onRevoked: (wasIt) => ends.push(wasIt) });
    link().welcome();

    link().hangUp(CLOSE.revoked, reason);
    clock.pass(3_600_000);

    t.deepEqual(ends, [wasDeleted]);
    t.deepEqual([links.length, clock.waiting()], [1, 0]);
  });

for (const reason of [ENROLLED_AGAIN_REASON, ''])
  test(`a token revoked for another reason ("${reason}") makes the agent start nothing and wait longest, not end`, (t) => {
    let holds = 0;
    let ends = 0;
    const unknown: boolean[] = [];
    const { clock, link, links, lines } = sessionFixture(
      { onRevoked: () => (ends += 1), onUnknown: (wasDeleted) => unknown.push(wasDeleted) },
      undefined,
      { runner: Object.assign(new NotingRunner(), { hold: () => (holds += 1) }) },
    );
    link().welcome();

    link().hangUp(CLOSE.revoked, reason);
    clock.pass(29_999);
    t.deepEqual([ends, holds, links.length], [0, 1, 1]);
    t.regex(lines.at(-1) ?? '', /^The token of this node is good no longer/u);
    clock.pass(1);
    link().hangUp(401, 'it answered 401');
    clock.pass(3_000);
    link().hangUp(401, 'it answered 401');

    t.is(links.length, 3);
    t.deepEqual(unknown, [false], 'it asks to join again');
  });

test('an agent that no admin knows asks once more soon, then seldom, says so once, and asks to join again each time', (t) => {
  const unknown: boolean[] = [];
  const { clock, link, links, lines, session } = sessionFixture({
    adminUrls: () => ['http://a.test', 'http://b.test'],
    onUnknown: (wasDeleted) => unknown.push(wasDeleted),
  });
  const waits = Array.from({ length: 3 }, () => {
    link().hangUp(401, 'it answered 401');
    clock.pass(500);
    t.is(link().url, 'http://b.test', 'the next admin at once');
    link().hangUp(401, 'it answered 401');
    const known = links.length;
    let ms = 0;
    for (; links.length === known; ms += 1_000) clock.pass(1_000);
    return ms;
  });

  t.deepEqual(waits, [2_000, 300_000, 300_000]);
  t.deepEqual([unknown, session.refusal], [[false, false], 'unknown']);
  t.deepEqual(
    lines
      .filter((line) => line.includes('does not know this node'))
      .map((line) => /asked once more|edge-agent leave/u.exec(line)?.[0]),
    ['asked once more', 'edge-agent leave'],
  );
  link().welcome();
  t.is(session.refusal, null);
});

test('an agent that one admin does not know, while another cannot be reached, goes on asking as after any loss', (t) => {
  const { clock, link, links } = sessionFixture({ adminUrls: () => ['http://a.test', 'http://b.test'] });
  for (let round = 0; round < 3; round += 1) {
    link().hangUp(401, 'it answered 401');
    clock.pass(500);
    link().hangUp(1006, 'connection refused');
    const known = links.length;
    clock.pass(30_000);
    t.true(links.length > known, `round ${round}`);
  }
});

test('an agent that is told that its node was deleted says so at once and is seldom back', (t) => {
  const unknown: boolean[] = [];
  const { clock, link, links, lines, session } = sessionFixture({
    onUnknown: (wasDeleted) => unknown.push(wasDeleted),
  });

  link().hangUp(401, NODE_DELETED);
  clock.pass(290_000);

  t.deepEqual([unknown, session.refusal, links.length], [[true], 'deleted', 1]);
  t.regex(lines.at(-1) ?? '', /was deleted at the admin.*stop the agent, run `edge-agent leave`/u);
});

test('a deletion of which no admin says anything any more is one no longer, and what follows is as of an unknown node', (t) => {
  const unknown: boolean[] = [];
  const { clock, link, lines, session } = sessionFixture({
    adminUrls: () => ['http://a.test', 'http://b.test'],
    onUnknown: (wasDeleted) => unknown.push(wasDeleted),
  });
  const round = (...said: readonly string[]) => {
    for (const reason of said) {
      link().hangUp(reason === '' ? 1_006 : 401, reason);
      clock.pass(600_000);
    }
    return session.refusal;
  };

  t.is(round(NODE_DELETED, 'it answered 401'), 'deleted');
  t.is(round('it answered 401', NODE_DELETED), 'deleted');
  t.is(round('it answered 401', ''), 'deleted', 'one of them may say it');
  t.is(round('it answered 401', 'it answered 401'), 'unknown');
  t.is(lines.at(-1), 'The admin does not know this node; it is asked once more');
  t.is(round('it answered 401', 'it answered 401'), 'unknown');
  t.deepEqual(unknown, [true, true, true, false]);
});

test('an agent that is sent to another admin goes there; to none, to no URL, or from https to http it does not', (t) => {
  const { clock, link } = sessionFixture({ adminUrls: () => ['https://a.test'] });
  const followed = (reason: string) => {
    link().hangUp(CLOSE.elsewhere, reason);
    clock.pass(60_000);
    return link().url;
  };

  t.is(followed('https://b.test'), 'https://b.test');
  t.is(followed(''), 'https://a.test');
  t.is(followed('ftp://b.test'), 'https://a.test');
  t.is(followed('http://b.test'), 'https://a.test');
});

test('two admins that send an agent to each other do not make it spin', (t) => {
  const { clock, link, links } = sessionFixture();
  for (let hop = 0; hop < 10; hop += 1) {
    link().hangUp(CLOSE.elsewhere, `http://${hop % 2 === 0 ? 'b' : 'a'}.test`);
    clock.pass(400);
  }

  t.true(links.length < 10, `${links.length} dials in 4 s`);
});

test('an agent that was sent on too often waits, and then goes where it is sent again', (t) => {
  const owner = 'http://owner.test'; // only admins know it: it is in no list of the agent's
  const { clock, link, links, lines } = sessionFixture({ adminUrls: () => ['http://a.test', 'http://b.test'] });
  const sent = (url: string): void => {
    const before = links.length;
    link().hangUp(CLOSE.elsewhere, url);
    while (links.length === before) clock.pass(10);
  };
  for (let hop = 0; hop < 4; hop += 1) sent(`http://${hop % 2 === 0 ? 'b' : 'a'}.test`);
  t.true(lines.some((line) => line.includes('Admins send this agent on and on')));

  sent(owner);

  t.is(link().url, owner);
});
