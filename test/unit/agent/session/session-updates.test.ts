/** Self-updates in a session: what is asked comes in, and what is said goes to admins that know of it alone. */
import test from 'ava';
import { OUTCOMES_AGAIN_MS } from '../../../../agent/session/live-session.ts';
import type { SessionUpdates } from '../../../../agent/session/ports.ts';
import { SOCKET_BUFFERED_BYTES_MAX } from '../../../../transport/protocol/limits.ts';
import type { UpdateOutcome } from '../../../../transport/protocol/updates.ts';
import { PROTOCOL_VERSION_UPDATES } from '../../../../transport/protocol/version.ts';
import { executionId, sessionFixture, SETTINGS } from '../../../support/agent/session-fixture.ts';

const REQUEST = '0190f5c2-7a11-7c3e-8f00-000000000001';
const OUTCOME: UpdateOutcome = {
  request: REQUEST,
  outcome: 'rolled_back',
  from: '0.1.0',
  to: '0.2.0',
  error: 'it crashes',
};

/** A session whose updates note what they are told. */
function fixtureOf() {
  const told: string[] = [];
  let outcomes: readonly UpdateOutcome[] = [OUTCOME];
  const updates: SessionUpdates = {
    asked: (request) => {
      told.push(`asked ${request}`);
    },
    outcomes: () => outcomes,
    outcomeStored: (request) => {
      told.push(`stored ${request}`);
      outcomes = [];
    },
  };
  const fixture = sessionFixture({}, () => 0, { updates });
  const welcome = (protocol: number) => {
    fixture.link().open();
    fixture.link().hear({ type: 'welcome', protocol, cluster_name: 'c', settings: SETTINGS });
  };
  const ofUpdates = () => fixture.link().frames.filter(({ type }) => type.startsWith('update-'));
  return { ...fixture, told, welcome, ofUpdates };
}

test('a request and the confirmation of an outcome reach the updates', (t) => {
  const { link, told, welcome } = fixtureOf();
  welcome(PROTOCOL_VERSION_UPDATES);

  link().hear({ type: 'update', request: REQUEST });
  link().hear({ type: 'update-outcome-stored', request: REQUEST });

  t.deepEqual(told, [`asked ${REQUEST}`, `stored ${REQUEST}`]);
});

test('an outcome is told after each welcome until an admin has stored it', (t) => {
  const { link, clock, welcome, ofUpdates } = fixtureOf();
  welcome(PROTOCOL_VERSION_UPDATES);
  const first = ofUpdates();
  link().hangUp(1006);
  clock.pass(1_000);
  welcome(PROTOCOL_VERSION_UPDATES);
  const second = ofUpdates();
  link().hear({ type: 'update-outcome-stored', request: REQUEST });
  link().hangUp(1006);
  clock.pass(1_000);
  welcome(PROTOCOL_VERSION_UPDATES);

  t.like(first[0], { type: 'update-outcome', ...OUTCOME });
  t.is(first.length, 1);
  t.like(second[0], { type: 'update-outcome', ...OUTCOME });
  t.deepEqual(ofUpdates(), []);
});

test('an outcome is told again in a session, each five minutes until an admin has stored it', (t) => {
  const { link, clock, welcome, ofUpdates } = fixtureOf();
  welcome(PROTOCOL_VERSION_UPDATES);
  const pass = (ms: number) => {
    for (const end = clock.nowMs() + ms; clock.nowMs() < end; link().hear({ type: 'pong' })) clock.pass(10_000);
    return ofUpdates().length;
  };

  t.is(pass(OUTCOMES_AGAIN_MS - 10_000), 1);
  t.is(pass(30_000), 2);
  link().hear({ type: 'update-outcome-stored', request: REQUEST });
  t.is(pass(2 * OUTCOMES_AGAIN_MS), 2);
});

test('an outcome goes out before results that fill the socket, and one that finds it full with the next ping', (t) => {
  const { journal, link, clock, session, welcome, ofUpdates } = fixtureOf();
  journal.finish(executionId(1), 'x');

  welcome(PROTOCOL_VERSION_UPDATES);
  t.deepEqual(
    link()
      .types()
      .filter((type) => ['update-outcome', 'result'].includes(type)),
    ['update-outcome', 'result'],
  );
  link().bufferedBytes = SOCKET_BUFFERED_BYTES_MAX + 1;
  t.false(session.say({ type: 'update-outcome', ...OUTCOME }));
  link().flush();
  clock.pass(10_000);

  t.is(ofUpdates().length, 2);
});

test('an admin that is too old for it hears nothing of updates', (t) => {
  const { session, welcome, ofUpdates } = fixtureOf();
  welcome(PROTOCOL_VERSION_UPDATES - 1);

  t.false(session.say({ type: 'update-answer', request: REQUEST, accepted: true, error: null }));
  t.deepEqual(ofUpdates(), []);
});

test('an agent without an updater, as of a benchmark, lets the request be', (t) => {
  const { link } = sessionFixture();
  link().open();
  link().hear({ type: 'welcome', protocol: PROTOCOL_VERSION_UPDATES, cluster_name: 'c', settings: SETTINGS });

  link().hear({ type: 'update', request: REQUEST });

  t.is(link().closeCode, null);
});

test('when the admin was heard last is known while a session lives', (t) => {
  const { link, clock, session, welcome } = fixtureOf();

  t.is(session.heardMs, null);
  welcome(PROTOCOL_VERSION_UPDATES);
  t.is(session.heardMs, 1_000);
  clock.pass(500);
  link().hear({ type: 'pong' });
  t.is(session.heardMs, 1_500);
  link().hangUp(1006);
  t.is(session.heardMs, null);
});
