/** At which URLs an agent opens the tunnels that it is asked for. */
import test from 'ava';
import type { SessionReach } from '../../../../agent/session/ports.ts';
import { sessionFixture } from '../../../support/agent/session-fixture.ts';

const TOKEN = '0123456789ab-one-time-token-of-a-tunnel';

/** No way through the VPN, and nothing but what every admin takes. */
const IN_A_WEB_SOCKET = { vpnUrl: undefined, isHttp2: false };

/** What is opened when the admin of a session at `url` names another one. */
function openedAt(url: string, named?: string, more: object = {}): unknown[] {
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
  link().hear({ type: 'open-tunnel', token: TOKEN, ...(named !== undefined && { admin_url: named }), ...more });
  return opened;
}

test('a tunnel is opened at the admin that is named, or else at the one of the session', (t) => {
  t.deepEqual(openedAt('http://lb.test', 'http://a.test:44000'), [
    [['http://a.test:44000', 'http://lb.test'], TOKEN, IN_A_WEB_SOCKET],
  ]);
  t.deepEqual(openedAt('http://lb.test', 'https://a.test'), [
    [['https://a.test', 'http://lb.test'], TOKEN, IN_A_WEB_SOCKET],
  ]);
});

test('a tunnel is opened at the admin of the session alone where no other is named', (t) => {
  for (const named of [undefined, 'http://lb.test', 'http://lb.test/'])
    t.deepEqual(openedAt('http://lb.test', named), [[['http://lb.test'], TOKEN, IN_A_WEB_SOCKET]]);
});

test('a tunnel is opened at the admin of the session where another would be plain while the session is encrypted', (t) => {
  t.deepEqual(openedAt('https://lb.test', 'http://a.test'), [[['https://lb.test'], TOKEN, IN_A_WEB_SOCKET]]);
});

test('a tunnel is opened by the ways that the admin says that there are', (t) => {
  const vpnUrl = 'http://100.64.0.1:4000';
  t.deepEqual(openedAt('http://lb.test', undefined, { mesh_url: vpnUrl, http2: true }), [
    [['http://lb.test'], TOKEN, { vpnUrl, isHttp2: true }],
  ]);
});
