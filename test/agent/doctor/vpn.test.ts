/** Checks of what the VPN stands on. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { diagnose } from '../../../agent/doctor/check.ts';
import { vpnChecks, type VpnSources } from '../../../agent/doctor/vpn.ts';
import { wireguardInterfaces } from '../../../agent/doctor/wireguard-interfaces.ts';
import { createVet } from '../../../transport/guard/vetting.ts';
import { temporaryDirectory } from '../agent-process.ts';

const NEAR = createVet({ allowPrivate: true, allowLoopback: true });

async function look(sources: Partial<VpnSources>) {
  const { checks } = await diagnose(vpnChecks({ tunPath: '/dev/null', isRoot: true, wireguard: async () => [], relayMapUrls: () => [], vet: NEAR, ...sources }), { checkMsMax: 1_000 });
  return checks.map(({ name, status, summary, hint }) => ({ name, status, summary, hint }));
}

async function serving(t: ExecutionContext, body: string, status = 200): Promise<string> {
  const server = createServer((_request, response) => { response.writeHead(status).end(body); });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.teardown(() => new Promise<void>((resolve) => { server.close(() => resolve()); server.closeAllConnections(); }));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/map.json`;
}

const MAP = JSON.stringify({ Regions: { 1: { RegionID: 1 }, 2: { RegionID: 2 } } });

test('a machine without VPN and relays passes, and says that there is nothing to check', async (t) => {
  const checks = await look({});

  t.deepEqual(checks.map(({ name, status, hint }) => [name, status, hint]), [['tun', 'pass', null], ['wireguard', 'pass', null], ['relay_map', 'pass', null]]);
  t.regex(checks[1]?.summary ?? '', /in no VPN yet/u);
  t.regex(checks[2]?.summary ?? '', /No relay map is configured/u);
});

test('a TUN device that is missing, or that cannot be opened, is a warning with what to do', async (t) => {
  const directory = temporaryDirectory(t);

  const [missing, closed, broken] = [await look({ tunPath: join(directory, 'tun') }), await look({ tunPath: directory, isRoot: false }), await look({ tunPath: directory })];

  t.deepEqual([missing, closed, broken].map(([tun]) => tun?.status), ['warn', 'warn', 'warn']);
  t.regex(missing[0]?.hint ?? '', /modprobe tun/u);
  t.regex(closed[0]?.hint ?? '', /Run the agent as root/u);
});

test('peers that were heard lately pass; none heard, or none known, is a warning; and no address is told', async (t) => {
  const now = Date.now() / 1_000;
  const at = (...handshakes: readonly (number | null)[]) => look({ wireguard: async () => [{ name: 'edge0', handshakes }] });

  const found = [await at(now - 10, null), await at(now - 500, null), await at(null), await at()];

  t.deepEqual(found.map(([, wireguard]) => wireguard?.status), ['pass', 'warn', 'warn', 'warn']);
  t.regex(found[0]?.[1]?.summary ?? '', /^1 of 2 peers/u);
});

test('interfaces of WireGuard are found by what the kernel says of them', async (t) => {
  const sys = temporaryDirectory(t);
  for (const [name, uevent] of [['eth0', 'INTERFACE=eth0\n'], ['wg7', 'DEVTYPE=wireguard\nINTERFACE=wg7\n']] as const) {
    mkdirSync(join(sys, 'class/net', name), { recursive: true });
    writeFileSync(join(sys, 'class/net', name, 'uevent'), uevent);
  }

  t.deepEqual((await wireguardInterfaces(sys)).map(({ name }) => name), ['wg7']);
  t.deepEqual(await wireguardInterfaces(join(sys, 'nothing')), []);
});

test('the first usable relay map wins; one before it that is none is a warning, and none at all a failure', async (t) => {
  const [map, gone, page, empty] = [await serving(t, MAP), await serving(t, MAP, 404), await serving(t, '<html>'), await serving(t, '{"Regions":{}}')];
  const at = async (...urls: readonly string[]) => (await look({ relayMapUrls: () => urls }))[2];

  const [passed, warned, failed, unsaid] = [await at(map, gone), await at(gone, page, map), await at(page, empty), (await look({ relayMapUrls: () => null }))[2]];

  t.deepEqual([passed?.status, warned?.status, failed?.status, unsaid?.status], ['pass', 'warn', 'fail', 'pass']);
  t.regex(passed?.summary ?? '', /names 2 regions/u);
  t.regex(warned?.summary ?? '', /status 404; .*no relay map/u);
});

test('relay maps come from public addresses only, are not followed elsewhere, and are bounded', async (t) => {
  const map = await serving(t, MAP);
  const large = await serving(t, `{"Regions":{"1":"${'x'.repeat(1_100_000)}"}}`);

  const [closed, tooLarge] = [(await look({ relayMapUrls: () => [map], vet: createVet({ allowPrivate: false }) }))[2], (await look({ relayMapUrls: () => [large] }))[2]];

  t.deepEqual([closed?.status, tooLarge?.status], ['fail', 'fail']);
  t.regex(closed?.summary ?? '', /must not be reached/u);
  t.regex(tooLarge?.summary ?? '', /too large/u);
});
