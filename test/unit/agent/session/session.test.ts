import test from 'ava';
import { TAILS_MAX } from '../../../../agent/session/tail-sender.ts';
import { NODE_DELETED } from '../../../../transport/protocol/version.ts';
import { CLOSE } from '../../../../transport/protocol/close-codes.ts';
import type { AgentFrame } from '../../../../transport/protocol/frames.ts';
import { PROTOCOL_VERSION } from '../../../../transport/protocol/version.ts';
import {
  FRAME_BYTES_MAX,
  OUTPUT_PART_BYTES_MAX,
  SOCKET_BUFFERED_BYTES_MAX,
} from '../../../../transport/protocol/limits.ts';
import {
  NODE,
  SETTINGS,
  TextCursor,
  delivery,
  executionId,
  sessionFixture,
} from '../../../support/agent/session-fixture.ts';

test('hello comes first and names everything the journal holds', (t) => {
  const { journal, link } = sessionFixture();
  journal.receive([delivery(1), delivery(2)]);
  journal.finish(executionId(2));

  link().open();

  t.deepEqual(link().types(), ['hello']);
  t.like(link().frames[0], {
    seq: 1,
    node: NODE,
    protocol: PROTOCOL_VERSION,
    holding: [executionId(1), executionId(2)],
  });
});

test('deliveries are in the journal before they are acknowledged, and run once', (t) => {
  const { journal, runner, link } = sessionFixture();
  link().welcome();

  link().hear({ type: 'deliver', deliveries: [delivery(1), delivery(2)] });
  link().hear({ type: 'deliver', deliveries: [delivery(2), delivery(3)] });

  t.deepEqual(
    link()
      .frames.slice(1)
      .map((frame) => (frame.type === 'acknowledge' ? frame.executions : frame.type)),
    [
      [executionId(1), executionId(2)],
      [executionId(2), executionId(3)],
    ],
  );
  t.deepEqual(runner.asked, [
    ['run', [executionId(1), executionId(2)]],
    ['run', [executionId(3)]],
  ]);
  t.is(journal.held.size, 3);
});

test('a delivery that cannot be stored is not acknowledged, and asked for again when it can', (t) => {
  const { clock, journal, runner, link, links } = sessionFixture();
  link().welcome();
  journal.isFull = true;

  link().hear({ type: 'deliver', deliveries: [delivery(1)] });
  t.deepEqual(link().types(), ['hello', 'report']);
  clock.pass(9_000);
  link().hear({ type: 'pong' });
  t.is(links.length, 1);

  journal.isFull = false;
  clock.pass(11_000);
  t.is(links.length, 2, 'a new session, in which the admin repeats what it has');
  t.deepEqual(runner.asked, []);
});

test('results are sent again on every connection until they are confirmed', (t) => {
  const { clock, journal, link, session } = sessionFixture();
  link().welcome();
  journal.finish(executionId(1), 'out');
  session.finished([executionId(1)]);
  t.like(link().frames.at(-1), {
    type: 'result',
    results: [{ execution: executionId(1), exit_code: 0, output: 'out', parts: 0 }],
  });

  link().hangUp(1006);
  clock.pass(1_000);
  link().welcome();
  t.is(link().types().at(-1), 'result');
  link().hear({ type: 'confirm', executions: [executionId(1)] });
  t.is(journal.held.size, 0);

  link().hangUp(1006);
  clock.pass(1_000);
  link().welcome();
  t.deepEqual(link().types(), ['hello']);
});

test('a confirm for a result that was not sent on this connection forgets nothing', (t) => {
  const { journal, link } = sessionFixture();
  link().welcome();
  journal.finish(executionId(1));

  link().hear({ type: 'confirm', executions: [executionId(1)] });

  t.is(journal.held.size, 1);
});

test('many results share frames that stay below the limit', (t) => {
  const { journal, link, session } = sessionFixture();
  const executions = Array.from({ length: 1_000 }, (_, index) => executionId(index));
  for (const execution of executions) journal.finish(execution, '\u0001'.repeat(3_000)); // sixfold when escaped
  link().welcome();

  session.finished([]);

  const results = link().frames.filter((frame) => frame.type === 'result');
  t.true(results.length > 1 && results.length < 100, String(results.length));
  t.true(results.every((frame) => Buffer.byteLength(JSON.stringify(frame)) < FRAME_BYTES_MAX));
  t.deepEqual(
    results.flatMap((frame) => frame.results.map((result) => result.execution)),
    executions,
  );
});

test('a long output goes ahead in parts, each after the one before is stored', (t) => {
  const { journal, link } = sessionFixture();
  const output = 'x'.repeat(OUTPUT_PART_BYTES_MAX * 2 + 5);
  journal.finish(executionId(1), output);
  journal.finish(executionId(2), 'short');
  link().welcome();
  const parts = () => link().frames.filter((frame) => frame.type === 'output-part');
  t.deepEqual(link().types(), ['hello', 'result', 'output-part'], 'short results do not wait for long ones');

  link().hear({ type: 'part-stored', execution: executionId(1), part: 0 });
  link().hear({ type: 'part-stored', execution: executionId(1), part: 0 });
  t.is(parts().length, 2, 'a repeated answer moves nothing');
  link().hear({ type: 'part-stored', execution: executionId(1), part: 1 });
  link().hear({ type: 'part-stored', execution: executionId(1), part: 2 });

  t.is(
    parts()
      .map((part) => part.text)
      .join(''),
    output,
  );
  t.like(link().frames.at(-1), { type: 'result', results: [{ execution: executionId(1), output: '', parts: 3 }] });
});

test('a settled execution is dropped in the middle of its parts, and the next long output follows', (t) => {
  const { journal, runner, link } = sessionFixture();
  for (const n of [1, 2]) journal.finish(executionId(n), 'x'.repeat(OUTPUT_PART_BYTES_MAX + 1));
  link().welcome();

  link().hear({ type: 'settle', executions: [executionId(1)] });

  t.deepEqual(runner.asked, [['settle', [executionId(1)]]]);
  t.like(link().frames.at(-1), { type: 'output-part', execution: executionId(2), part: 0 });
});

test('nothing is sent into a full socket, and all of it when the socket is empty again', (t) => {
  const { journal, link, session } = sessionFixture();
  link().welcome();
  link().bufferedBytes = SOCKET_BUFFERED_BYTES_MAX;
  session.reportNow(); // fills it
  link().bufferedBytes = SOCKET_BUFFERED_BYTES_MAX + 1;
  journal.finish(executionId(1));
  session.finished([executionId(1)]);
  t.deepEqual(link().types(), ['hello', 'report']);

  link().flush();

  t.deepEqual(link().types(), ['hello', 'report', 'result']);
});

test('a watched output is streamed from where it was asked for, as far as the socket takes it, to its end', (t) => {
  const { runner, link, session } = sessionFixture();
  const cursor = new TextCursor();
  runner.cursors.set(executionId(1), cursor);
  cursor.text = '0123456789';
  link().welcome();
  const tail = () =>
    link()
      .frames.filter((frame): frame is AgentFrame & { type: 'tail-output' } => frame.type === 'tail-output')
      .map(({ offset, text, end }) => [offset, text.length, end]);

  link().hear({ type: 'tail', execution: executionId(1), offset: 4 });
  t.deepEqual(tail(), [[4, 6, false]]);

  link().bufferedBytes = SOCKET_BUFFERED_BYTES_MAX;
  session.reportNow();
  link().bufferedBytes += 1;
  cursor.text += 'x'.repeat(100_000);
  cursor.wake();
  t.is(tail().length, 1, 'the socket is full');
  link().flush();
  t.deepEqual(tail().slice(1), [
    [10, 65_536, false],
    [65_546, 34_464, false],
  ]);

  cursor.text += 'end';
  cursor.ended = true;
  cursor.wake();
  t.deepEqual(tail().slice(3), [
    [100_010, 3, false],
    [100_013, 0, true],
  ]);
  t.true(cursor.isClosed);
});

test('a tail of an unknown execution ends at once, and one too many ends the oldest', (t) => {
  const { runner, link } = sessionFixture();
  link().welcome();
  link().hear({ type: 'tail', execution: executionId(999), offset: 7 });
  t.like(link().frames.at(-1), { type: 'tail-output', execution: executionId(999), offset: 7, text: '', end: true });

  for (let n = 0; n <= TAILS_MAX; n += 1) {
    runner.cursors.set(executionId(n), new TextCursor());
    link().hear({ type: 'tail', execution: executionId(n), offset: 0 });
  }

  t.like(link().frames.at(-1), { type: 'tail-output', execution: executionId(0), end: true });
  t.is([...runner.cursors.values()].filter((cursor) => cursor.isClosed).length, 1);
  link().hangUp(1006);
  t.true([...runner.cursors.values()].every((cursor) => cursor.isClosed));
});

test('it pings and reports every 10 seconds, and takes 20 seconds of silence for the end', (t) => {
  const { clock, link, links } = sessionFixture();
  link().welcome();
  for (let pings = 0; pings < 5; pings += 1) {
    clock.pass(10_000);
    link().hear({ type: 'pong' });
  }
  t.is(
    link()
      .types()
      .filter((type) => type === 'ping').length,
    5,
  );
  t.is(
    link()
      .types()
      .filter((type) => type === 'report').length,
    5,
  );
  t.is(clock.timers, 1, 'one timer a session');

  clock.pass(19_999);
  t.false(link().isTerminated);
  clock.pass(1);
  t.true(link(0).isTerminated);
  clock.pass(1_000);
  t.is(links.length, 2);
});

test('an admin that never welcomes is given up after the same silence', (t) => {
  const { clock, link, links } = sessionFixture();
  link().open();

  clock.pass(21_000);

  t.true(link(0).isTerminated);
  t.is(links.length, 2);
});

test('settings are refreshed as often as they say, and handed on', (t) => {
  const seen: unknown[] = [];
  const { clock, link } = sessionFixture({
    onSettings: (settings, cluster) => seen.push([settings.admin_urls, cluster]),
  });
  link().welcome({ ...SETTINGS, refresh_ms: 30_000 });

  clock.pass(19_000);
  t.is(
    link()
      .types()
      .filter((type) => type === 'refresh-settings').length,
    0,
  );
  link().hear({ type: 'pong' });
  clock.pass(11_000);
  t.is(
    link()
      .types()
      .filter((type) => type === 'refresh-settings').length,
    1,
  );
  link().hear({ type: 'settings', settings: { ...SETTINGS, admin_urls: ['http://b.test'] } });

  t.deepEqual(seen, [
    [['http://a.test'], 'c'],
    [['http://b.test'], null],
  ]);
});

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

  t.deepEqual(
    links.slice(0, 4).map((each) => each.url),
    ['http://a.test', 'http://b.test', 'http://a.test', 'http://b.test'],
  );
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

test('replaced by a newer session, it waits the longest before it tries again, and says so', (t) => {
  const { clock, link, links, lines } = sessionFixture();
  link().welcome();

  link().hangUp(CLOSE.replaced);
  clock.pass(29_999);
  t.is(links.length, 1);
  clock.pass(1);

  t.is(links.length, 2);
  t.true(lines.some((line) => line.includes('newer session')));
});

test('revoked, it never dials again', (t) => {
  const reasons: string[] = [];
  const { clock, link, links } = sessionFixture({ onRevoked: (reason) => reasons.push(reason) });
  link().welcome();

  link().hangUp(CLOSE.revoked, 'node deleted');
  clock.pass(3_600_000);

  t.deepEqual(reasons, ['node deleted']);
  t.is(links.length, 1);
  t.is(clock.timers, 0);
});

test('unknown to all admins, it asks once more soon, then seldom, says so once, and asks to join again each time', (t) => {
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

test('unknown to one admin while another cannot be reached, it goes on asking as after any loss', (t) => {
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

test('told that its node was deleted, it says so at once and is seldom back', (t) => {
  const unknown: boolean[] = [];
  const { clock, link, links, lines, session } = sessionFixture({
    onUnknown: (wasDeleted) => unknown.push(wasDeleted),
  });

  link().hangUp(401, NODE_DELETED);
  clock.pass(290_000);

  t.deepEqual([unknown, session.refusal, links.length], [[true], 'deleted', 1]);
  t.regex(lines.at(-1) ?? '', /was deleted at the admin/);
});

test('sent to another admin it goes there; to none, to no URL, or from https to http it does not', (t) => {
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

test('two admins that send it to each other do not make it spin', (t) => {
  const { clock, link, links } = sessionFixture();
  for (let hop = 0; hop < 10; hop += 1) {
    link().hangUp(CLOSE.elsewhere, `http://${hop % 2 === 0 ? 'b' : 'a'}.test`);
    clock.pass(400);
  }

  t.true(links.length < 10, `${links.length} dials in 4 s`);
});

for (const [name, text] of [
  ['what is no JSON', 'not json'],
  ['an unknown frame', '{"seq":2,"type":"dance"}'],
  ['a gap in the numbers', '{"seq":3,"type":"pong"}'],
  ['a repeated number', '{"seq":1,"type":"pong"}'],
  [
    'a second welcome',
    JSON.stringify({ seq: 2, type: 'welcome', protocol: PROTOCOL_VERSION, cluster_name: 'c', settings: SETTINGS }),
  ],
] as const) {
  test(`${name} ends the connection with the policy code`, (t) => {
    const { clock, link, links } = sessionFixture();
    link().welcome();

    link().hearText(text);
    clock.pass(1_000);

    t.is(link(0).closeCode, CLOSE.policy);
    t.is(links.length, 2);
  });
}

test('anything before welcome, and a welcome of another protocol, ends the connection', (t) => {
  const { clock, link } = sessionFixture();
  link().open();
  link().hear({ type: 'deliver', deliveries: [delivery(1)] });
  t.is(link().closeCode, CLOSE.policy);
  clock.pass(1_000);
  link().open();
  link().hear({ type: 'welcome', protocol: 99, cluster_name: 'c', settings: SETTINGS });
  t.is(link().closeCode, CLOSE.policy);
});

test('news from a connection that was given up is ignored', (t) => {
  const { clock, link, links, runner } = sessionFixture();
  link().welcome();
  link().hearText('broken');
  clock.pass(1_000);
  link().welcome();

  link(0).hear({ type: 'deliver', deliveries: [delivery(1)] });
  link(0).hangUp(1006);

  t.deepEqual(runner.asked, []);
  t.is(links.length, 2);
});
