/**
 * Netmaker as the VPN manager: against a stand-in with every quirk, and against a real server where
 * EDGE_TEST_NETMAKER_URL and _KEY name one.
 */
import test from 'ava';
import { randomBytes, randomUUID } from 'node:crypto';
import { startFakeNetmaker } from '../../support/netmaker/netmaker.ts';
import { MODERN, type Quirks } from '../../support/netmaker/quirks.ts';
import { declareContract } from './contract.ts';
import { DOMAIN, netmakerFixture } from '../../support/vpn/database-fixture.ts';

/** Servers that differ from each other as versions and editions do. */
const SERVERS: Readonly<Record<string, Quirks>> = {
  'of today': MODERN,
  'that wraps its answers, deletes late and has the domain of the nodes': {
    ...MODERN,
    wraps: true,
    lateDeletes: true,
    missing: 404,
    domain: DOMAIN,
  },
  'of old: no keys of its own, 400 for what is missing, no word for who is connected': {
    nullLists: false,
    wraps: false,
    missing: 400,
    lateDeletes: false,
    defaultKeys: false,
    domain: '',
    saysStatus: false,
  },
};

for (const [name, quirks] of Object.entries(SERVERS)) {
  declareContract(
    (title, run) => test.serial(`a server ${name}: ${title}`, run),
    async (t) => {
      const netmaker = await startFakeNetmaker(t, quirks);
      return {
        fixture: await netmakerFixture(t, netmaker, (token, host) => netmaker.register(token, host)),
        settle: () => netmaker.settle(),
      };
    },
  );
}

const [url, masterKey] = [process.env['EDGE_TEST_NETMAKER_URL'], process.env['EDGE_TEST_NETMAKER_KEY']];
if (url === undefined || masterKey === undefined) {
  test.skip('the contract holds for a real server (skipped: EDGE_TEST_NETMAKER_URL and EDGE_TEST_NETMAKER_KEY name none)', (t) =>
    t.fail());
} else {
  declareContract(
    (title, run) => test.serial(`a real server: ${title}`, run),
    async (t) => {
      const fixture = await netmakerFixture(t, { url, masterKey }, (token, name) => registerAtReal(url, token, name));
      t.teardown(async () => {
        for (const { node } of await fixture.manager.hosts()) await fixture.manager.removeHost(node);
        for (const network of await fixture.manager.networks()) await fixture.manager.removeNetwork(network.name);
      });
      return { fixture, settle: () => {} };
    },
  );
}

/** As `netclient` does it, as far as the server wants to know. */
async function registerAtReal(base: string, token: string, name: string): Promise<void> {
  const keys = { publickey: randomBytes(32).toString('base64'), traffickeypublic: randomBytes(32).toString('base64') };
  const response = await fetch(new URL(`/api/v1/host/register/${encodeURIComponent(token)}`, base), {
    method: 'POST',
    body: JSON.stringify({
      id: randomUUID(),
      name,
      hostpass: randomBytes(16).toString('hex'),
      version: process.env['EDGE_TEST_NETMAKER_VERSION'] ?? 'v1.0.0',
      os: 'linux',
      listenport: 51_821,
      ...keys,
    }),
  });
  if (!response.ok) throw new Error(`the host was not registered: ${response.status} ${await response.text()}`);
}
