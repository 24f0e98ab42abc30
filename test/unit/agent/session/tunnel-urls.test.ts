/** At which URLs an agent opens the tunnels that it is asked for. */
import test from 'ava';
import type { SessionReach } from '../../../../agent/session/ports.ts';
import { sessionFixture } from '../../../support/agent/session-fixture.ts';

const TOKEN = '0123456789ab-one-time-token-of-a-tunnel';

/** What is opened when the admin of a session at `url` names another one. */
function openedAt(url: string, named?: string): unknown[] {
  const opened: unknown[] = [];
  const reach: SessionReach = {
    openTunnel: (...asked) => void opened.push(asked),
    verdict() {},
    endSsh() {},
    unanswered: () => [],
    grants: () => [],
  };
  const { session, link } = sessionFixture({ adminUrls: () => [url] }, () => 0, { reach });
  session.start();
  link().welcome();
  link().hear({ type: 'open-tunnel', token: TOKEN, ...(named !== undefined && { admin_url: named }) });
  return opened;
}

test('a tunnel is opened at the admin that is named, or else at the one of the session', (t) => {
  t.deepEqual(openedAt('http://lb.test', 'http://a.test:44000'), [
    [['http://a.test:44000', 'http://lb.test'], TOKEN, undefined],
  ]);
  t.deepEqual(openedAt('http://lb.test', 'https://a.test'), [[['https://a.test', 'http://lb.test'], TOKEN, undefined]]);
});

test('at the one of the session alone where no other is named', (t) => {
  for (const named of [undefined, 'http://lb.test', 'http://lb.test/'])
    t.deepEqual(openedAt('http://lb.test', named), [[['http://lb.test'], TOKEN, undefined]]);
});

test('or where that would be plain while the session is encrypted', (t) => {
  t.deepEqual(openedAt('https://lb.test', 'http://a.test'), [[['https://lb.test'], TOKEN, undefined]]);
});
