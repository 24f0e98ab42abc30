/** What a status rests on of the VPN. */
import test from 'ava';
import { evidenceOf } from '../../../../actors/node/status-reason.ts';
import { statusOf } from '../../../../actors/node/status.ts';
import { NEW_VPN_SESSION } from '../../../../actors/node/vpn-state.ts';
import type { LiveSession } from '../../../../actors/node/state.ts';
import type { VpnReport } from '../../../../transport/protocol/vpn.ts';
import { liveNode, NOW_MS } from '../../../support/actors.ts';

function sessionWith(said: VpnReport | null): LiveSession {
  const { session } = liveNode();
  if (session === null) throw new Error('no session');
  return { ...session, vpn: { ...NEW_VPN_SESSION, report: said === null ? null : { said, atMs: NOW_MS } } };
}

const vpnOf = (said: VpnReport | null, laterMs = 0) => evidenceOf(sessionWith(said), null, NOW_MS + laterMs)?.vpn;

test('a node that said nothing of the VPN is in none', (t) => {
  t.is(vpnOf(null), null);
});

test('the path is the one to the gateway, and its handshake grows older with the report', (t) => {
  const report = { direct: 5, relayed: 0, none: 0, gateway: { path: 'relayed', handshake_age_ms: 900 } } as const;

  t.deepEqual(vpnOf(report), { handshake_age_ms: 900, path: 'relayed' });
  t.deepEqual(vpnOf(report, 2_000), { handshake_age_ms: 2_900, path: 'relayed' });
  t.deepEqual(vpnOf({ ...report, gateway: { path: 'none', handshake_age_ms: null } }), {
    handshake_age_ms: null,
    path: 'none',
  });
});

test('without a gateway it is the best path to anybody', (t) => {
  t.deepEqual(vpnOf({ direct: 1, relayed: 7, none: 2, gateway: null }), { handshake_age_ms: null, path: 'direct' });
  t.deepEqual(vpnOf({ direct: 0, relayed: 7, none: 2, gateway: null }), { handshake_age_ms: null, path: 'relayed' });
  t.deepEqual(vpnOf({ direct: 0, relayed: 0, none: 0, gateway: null }), { handshake_age_ms: null, path: 'none' });
});

test('a node without a path in the VPN is no worse for it', (t) => {
  t.is(
    statusOf(sessionWith({ direct: 0, relayed: 0, none: 9, gateway: { path: 'none', handshake_age_ms: null } })),
    statusOf(sessionWith(null)),
  );
});
