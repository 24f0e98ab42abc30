/** An agent that says what its machine is, to admins of this version and of before. */
import test from 'ava';
import { PROTOCOL_VERSION_FACTS } from '../../../../transport/protocol/version.ts';
import { FACTS } from '../../../support/actors.ts';
import { SETTINGS, sessionFixture } from '../../../support/agent/session-fixture.ts';

/** A session of a machine that is called as told. */
function fixtureOf(hostname: () => string) {
  return sessionFixture({}, () => 0, { facts: () => ({ ...FACTS, hostname: hostname() }) });
}

test('the facts of each hello are those of now', (t) => {
  let name = 'one';
  const { link } = fixtureOf(() => name);
  link().open();
  link().hear({ type: 'welcome', protocol: PROTOCOL_VERSION_FACTS, cluster_name: 'c', settings: SETTINGS });
  name = 'two';
  link().hear({ type: 'greet' });

  t.deepEqual(
    link().frames.flatMap((frame) => (frame.type === 'hello' ? [frame.registration.facts?.hostname] : [])),
    ['one', 'two'],
  );
});

test('a change is said to an admin that listens, and to no older one', (t) => {
  for (const [protocol, isHeard] of [
    [PROTOCOL_VERSION_FACTS, true],
    [PROTOCOL_VERSION_FACTS - 1, false],
    [1, false],
  ] as const) {
    const { link, session } = fixtureOf(() => 'one');
    link().open();
    link().hear({ type: 'welcome', protocol, cluster_name: 'c', settings: SETTINGS });

    t.is(session.say({ type: 'facts-changed', facts: { ...FACTS, hostname: 'two' } }), isHeard, `protocol ${protocol}`);
    t.deepEqual(
      link().frames.flatMap((frame) => (frame.type === 'facts-changed' ? [frame.facts.hostname] : [])),
      isHeard ? ['two'] : [],
      `protocol ${protocol}`,
    );
  }
});

test('without a session nobody hears of a change, and a socket that is full is not filled further', (t) => {
  const { link, session } = fixtureOf(() => 'one');

  t.false(session.say({ type: 'facts-changed', facts: FACTS }));
  link().open();
  link().hear({ type: 'welcome', protocol: PROTOCOL_VERSION_FACTS, cluster_name: 'c', settings: SETTINGS });
  link().bufferedBytes = 10_000_000;

  t.false(session.say({ type: 'facts-changed', facts: FACTS }));
});
