/** What keeps a session going, and what ends it: silence, and frames that an admin must not send. */
import test from 'ava';
import { CLOSE } from '../../../../transport/protocol/close-codes.ts';
import { PROTOCOL_VERSION } from '../../../../transport/protocol/version.ts';
import { SETTINGS, delivery, sessionFixture } from '../../../support/agent/session-fixture.ts';

test('an agent pings and reports every 10 seconds, and takes 20 seconds of silence for the end', (t) => {
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
  t.is(clock.waiting(), 1, 'one timer a session');

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
