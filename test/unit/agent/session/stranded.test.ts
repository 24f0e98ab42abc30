/** An agent that does not get to the owner of its cluster has its session passed on by the admin that it reaches. */
import test from 'ava';
import { BESIDE_HANDSHAKE_MS_MAX } from '../../../../agent/session/suspicion.ts';
import { CLOSE } from '../../../../transport/protocol/close-codes.ts';
import { REGISTRATION } from '../../../support/actors.ts';
import { sessionFixture } from '../../../support/agent/session-fixture.ts';

const OWNER = 'http://owner.test';

/** An agent that was sent to the owner by the admin that it knows, and is dialling it. */
function sent(more: Parameters<typeof sessionFixture>[0] = {}) {
  const fixture = sessionFixture(more);
  fixture.link().hangUp(CLOSE.elsewhere, OWNER);
  fixture.clock.pass(1);
  const dialled = () => {
    const { url, stranded, handshakeMsMax } = fixture.link();
    return { url, stranded, handshakeMsMax };
  };
  return { ...fixture, dialled };
}

test('the admin that named the owner is asked to pass the session on when that one is not reached', (t) => {
  const { dialled, link, clock, session } = sent();
  const toOwner = dialled();

  link().hangUp(1_006, 'connection refused');
  clock.pass(1);
  const back = dialled();
  link().welcome();

  t.deepEqual(toOwner, { url: OWNER, stranded: undefined, handshakeMsMax: BESIDE_HANDSHAKE_MS_MAX });
  t.deepEqual(back, { url: 'http://a.test', stranded: OWNER, handshakeMsMax: undefined });
  t.true(session.isLive);
});

test('what is at the URL of the owner and is no admin, or sends it there again and again, is not the owner', (t) => {
  const ends = [
    ...[1_006, 502, 404, 403, 200, 302, 1_011].map((code) => [[code, '']] as const),
    [
      [CLOSE.elsewhere, OWNER],
      [CLOSE.elsewhere, `${OWNER}/`],
    ] as const,
    [
      [CLOSE.elsewhere, OWNER],
      [1_006, ''],
    ] as const,
  ];
  for (const codes of ends) {
    const { dialled, link, links, clock, session } = sent();

    for (const [code, reason] of codes) {
      link().hangUp(code, reason);
      clock.pass(1);
    }
    const back = dialled();
    link().welcome();

    t.deepEqual([back.url, back.stranded], ['http://a.test', OWNER], JSON.stringify(codes));
    t.true(session.isLive);
    t.is(links.filter(({ stranded }) => stranded !== undefined).length, 1);
  }
});

test('an owner that names itself for a moment, as one does that has not heard of its lease yet, is dialled again', (t) => {
  const { dialled, link, clock } = sent();

  link().hangUp(CLOSE.elsewhere, OWNER);
  clock.pass(1);
  const again = dialled();
  link().welcome();
  link().hangUp(1_006);
  clock.pass(1_000);
  link().hangUp(CLOSE.elsewhere, OWNER);
  clock.pass(1);
  link().hangUp(CLOSE.elsewhere, OWNER);
  clock.pass(1);

  t.deepEqual([again.url, again.stranded], [OWNER, undefined]);
  t.deepEqual([dialled().url, dialled().stranded], [OWNER, undefined], 'and so at its next moment');
});

test('it is said with one dial: whoever does not pass it on is left, and the owner tried anew later', (t) => {
  const { dialled, link, links, clock } = sent();
  link().hangUp(1_006);
  clock.pass(1);

  link().hangUp(CLOSE.elsewhere, `${OWNER}/`);
  clock.pass(1);
  const atOnce = links.length;
  clock.pass(60_000);
  const later = dialled();
  link().hangUp(CLOSE.elsewhere, OWNER);
  clock.pass(60_000);

  t.is(atOnce, 3);
  t.deepEqual([later.url, later.stranded], ['http://a.test', undefined]);
  t.is(dialled().url, OWNER);
});

test('another owner than the one that was not reached is tried', (t) => {
  const { dialled, link, clock } = sent();
  link().hangUp(1_006);
  clock.pass(1);

  link().hangUp(CLOSE.elsewhere, 'http://next.test');
  clock.pass(1);

  t.deepEqual([dialled().url, dialled().stranded], ['http://next.test', undefined]);
});

test('an owner that refuses the node is reached', (t) => {
  for (const code of [401, 429, CLOSE.policy, CLOSE.shuttingDown]) {
    const { dialled, link, clock } = sent();
    link().hangUp(code);
    clock.pass(300_000);
    t.is(dialled().stranded, undefined, String(code));
  }
});

test('on a metered link the owner has the time of every admin', (t) => {
  const { dialled } = sent({ registration: { ...REGISTRATION, rhythm: { ping_ms: 60_000, report_ms: 300_000 } } });

  t.is(dialled().handshakeMsMax, undefined);
});
