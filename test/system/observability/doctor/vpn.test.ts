/** Checks of what the VPN stands on. */
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { diagnose } from '../../../../agent/observability/doctor/check.ts';
import { vpnChecks, type VpnSources } from '../../../../agent/observability/doctor/vpn.ts';
import { createVet } from '../../../../transport/net/outbound-guard/vetting.ts';
import { scaled } from '../../../support/busy.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { startWireguard, wireguardProblem, WIREGUARD_SOCKETS } from '../../../support/vpn/wireguard.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { listeningAt, origin } from '../../../support/net/listening.ts';

const test = await peerTest('wireguard-go', 'wg', 'ip');

/** No interface at all. */
const NONE = { sockets: '/nowhere', interfaces: '/nowhere', wg: 'wg', limits: { readMsMax: scaled(1_500) } } as const;

const NEAR = createVet({ allowPrivate: true, allowLoopback: true });

async function look(sources: Partial<VpnSources>) {
  const { checks } = await diagnose(
    vpnChecks({
      tunPath: '/dev/null',
      isRoot: true,
      wireguard: NONE,
      relayMapUrls: () => [],
      vet: NEAR,
      adminUrls: () => [],
      service: () => null,
      ...sources,
    }),
    { checkMsMax: scaled(5_000), totalMsMax: scaled(9_000) },
  );
  return checks.map(({ name, status, summary, hint }) => ({ name, status, summary, hint }));
}

const serving = async (t: Scope, body: string, status = 200): Promise<string> =>
  `${await origin(t, (_request, response) => response.writeHead(status).end(body))}/map.json`;

const MAP = JSON.stringify({
  Regions: Object.fromEntries(
    [901, 902].map((id) => [
      id,
      { RegionID: id, Nodes: [{ Name: `${id}a`, RegionID: id, HostName: 'relay.example.com' }] },
    ]),
  ),
});

test('a machine without VPN and relays passes, and says that there is nothing to check', async (t) => {
  const checks = await look({});

  t.deepEqual(
    checks.map(({ name, status, hint }) => [name, status, hint]),
    [
      ['tun', 'pass', null],
      ['wireguard', 'pass', null],
      ['names', 'pass', null],
      ['relay_map', 'pass', null],
    ],
  );
  t.regex(checks[1]?.summary ?? '', /in no VPN yet/u);
  t.regex(checks[3]?.summary ?? '', /No relay map is configured/u);
});

test('what the agent leaves out of its VPN is told beside the interface, and what keeps it out also where there is none', async (t) => {
  const says = async (problem: string | null, note: string | null, wireguard: VpnSources['wireguard']) =>
    (await look({ wireguard, service: (name) => serviceThat(name, 'vpn', problem, note) }))[1];
  const withPeer = await interfaceWith(t, [Date.now() / 1_000 - 10]);

  t.like(await says(null, null, withPeer), { status: 'pass' });
  t.like(await says(null, 'left out of the VPN: node 0190 (its WireGuard key is none)', withPeer), {
    status: 'warn',
    summary:
      '1 of 1 peers were heard in the last 180 s. The agent says: left out of the VPN: node 0190 (its WireGuard key is none)',
  });
  t.like(await says('no admin lets it in', null, withPeer), {
    status: 'fail',
    summary: '1 of 1 peers were heard in the last 180 s. The agent says: no admin lets it in',
  });
  t.like(await says(null, 'This machine joins no VPN: it has no wireguard-go', NONE), {
    status: 'warn',
    summary: 'This machine is in no VPN yet. The agent says: This machine joins no VPN: it has no wireguard-go',
  });
});

test('what is in the way of names is told, and fails where they do not work at all', async (t) => {
  const says = async (problem: string | null, note: string | null) =>
    (await look({ service: (name) => serviceThat(name, 'names', problem, note) }))[2];

  t.like(await says(null, null), { name: 'names', status: 'pass' });
  t.like(await says(null, 'port 53 is taken'), { status: 'warn' });
  const failing = await says('/etc/hosts cannot be written: EROFS', null);
  t.is(failing?.status, 'fail');
  t.regex(failing?.summary ?? '', /EROFS$/u);
});

/** The service of this name as an agent tells of it; of others nothing. */
function serviceThat(name: string, told: string, problem: string | null, note: string | null) {
  return name === told ? { name, problem: () => problem, note: () => note } : null;
}

test('a TUN device that is missing, or that cannot be opened, is a warning with what to do', async (t) => {
  const directory = temporaryDirectory(t);

  const [missing, closed, broken] = [
    await look({ tunPath: join(directory, 'tun') }),
    await look({ tunPath: directory, isRoot: false }),
    await look({ tunPath: directory }),
  ];

  t.deepEqual(
    [missing, closed, broken].map(([tun]) => tun?.status),
    ['warn', 'warn', 'warn'],
  );
  t.regex(missing[0]?.hint ?? '', /modprobe tun/u);
  t.regex(closed[0]?.hint ?? '', /Run the agent as root/u);
});

/** An interface in user space whose peers had these handshakes; null: it does not answer. */
async function interfaceWith(t: ExecutionContext, handshakes: readonly number[] | null) {
  const sockets = temporaryDirectory(t);
  const peers = (handshakes ?? [])
    .map(
      (seconds) =>
        `public_key=${'ab'.repeat(32)}\nallowed_ip=10.231.77.2/32\nendpoint=198.51.100.9:51820\nlast_handshake_time_sec=${Math.round(seconds)}\nlast_handshake_time_nsec=0\ntx_bytes=1\nrx_bytes=1\n`,
    )
    .join('');
  const server = createServer((socket) => {
    socket.on('data', () => {
      if (handshakes !== null) socket.write(`private_key=${'cd'.repeat(32)}\nlisten_port=51820\n${peers}errno=0\n\n`);
    });
  });
  await listeningAt(t, server, join(sockets, 'edge0.sock'));
  return { ...NONE, sockets };
}

test('peers heard lately pass; unheard or unknown peers and a silent interface are warnings without addresses', async (t) => {
  const now = Date.now() / 1_000;

  const found = await Promise.all(
    [[now - 10, 0], [now - 500, 0], [0], [], null].map(
      async (handshakes) => (await look({ wireguard: await interfaceWith(t, handshakes) }))[1],
    ),
  );

  t.deepEqual(
    found.map((wireguard) => wireguard?.status),
    ['pass', 'warn', 'warn', 'warn', 'warn'],
  );
  t.regex(found[0]?.summary ?? '', /^1 of 2 peers/u);
  t.regex(found[4]?.summary ?? '', /edge0 cannot be read/u);
  t.notRegex(JSON.stringify(found), /10\.231|198\.51|abab|cdcd/u);
});

if (wireguardProblem === null) {
  test('a real handshake of real interfaces passes', async (t) => {
    const {
      ends: [one, other],
    } = await startWireguard(t);
    await until('the handshake', async () => {
      await one.send(1_000);
      return Number((await other.dump())[1]?.[4]) > 0;
    });

    // Other tests may have interfaces on this machine that are just going.
    const found = await until('a pass', async () => {
      const [, wireguard] = await look({ wireguard: { ...NONE, sockets: WIREGUARD_SOCKETS } });
      return wireguard?.status === 'pass' && wireguard;
    });

    t.regex(found.summary, /peers were heard/u);
  });
}

test('the first usable relay map wins; one before it that is none is a warning, and none at all a failure', async (t) => {
  const [map, gone, page, empty] = [
    await serving(t, MAP),
    await serving(t, MAP, 404),
    await serving(t, '<html>'),
    await serving(t, '{"Regions":{}}'),
  ];
  const at = async (...urls: readonly string[]) => (await look({ relayMapUrls: () => urls }))[3];

  const [passed, warned, failed, unsaid] = [
    await at(map, gone),
    await at(gone, page, map),
    await at(page, empty),
    (await look({ relayMapUrls: () => null }))[3],
  ];

  t.deepEqual([passed?.status, warned?.status, failed?.status, unsaid?.status], ['pass', 'warn', 'fail', 'pass']);
  t.regex(passed?.summary ?? '', /names 2 regions/u);
  t.regex(warned?.summary ?? '', /status 404; .*no relay map/u);
});

test('relay maps come from public addresses or the admin only, are not followed elsewhere, and are bounded', async (t) => {
  const map = await serving(t, MAP);
  const large = await serving(t, `{"Regions":{"1":"${'x'.repeat(1_100_000)}"}}`);

  const [closed, tooLarge] = [
    (await look({ relayMapUrls: () => [map], vet: createVet({ allowPrivate: false }) }))[3],
    (await look({ relayMapUrls: () => [large] }))[3],
  ];

  const [, , near] = await look({
    relayMapUrls: () => [map],
    vet: createVet({ allowPrivate: false }),
    adminUrls: () => [new URL(map).origin],
  });

  t.deepEqual([closed?.status, tooLarge?.status, near?.status], ['fail', 'fail', 'pass']);
  t.regex(closed?.summary ?? '', /must not be reached/u);
  t.regex(tooLarge?.summary ?? '', /too large/u);
});
