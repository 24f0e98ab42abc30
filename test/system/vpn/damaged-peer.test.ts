/**
 * R4 through real programs: a key in the rows that no interface takes stops nobody but its own machine, neither members
 * nor the gateway.
 */
import ava from 'ava';
import type { SubsystemCheck } from '../../../api/views/health.ts';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import { makeKeyPair } from '../../../transport/vpn/wireguard/keys.ts';
import { gatewayInterface } from '../../../transport/vpn/gateway/open-gateway.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { enrollment } from '../../support/fleet/raw-agent.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { connected, startFixture, type Member, type Fixture } from '../../support/vpn/fixture.ts';
import { hangAfter } from '../../support/busy.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'conntrack', 'ping', 'wg', 'wireguard-go');

/** All of it, on a busy machine, in ms. */
const TEST_MS_MAX = 180_000;

const scope = createScope();
let fixture: Fixture;
let one: Member;
let other: Member;

test.before(async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  fixture = await startFixture(scope);
  await fixture.rest.post('/clusters', { name: 'red' });
  const [here, there] = await Promise.all([fixture.internet.host('one'), fixture.internet.host('other')]);
  [one, other] = [await fixture.member(here, 'red'), await fixture.member(there, 'red')];
  await connected(one, other);
});

ava.after.always(() => scope.end());

test.serial(
  'a node whose row holds no key is left out and named, and a node that is deleted beside it goes from all interfaces',
  async (t) => {
    t.timeout(hangAfter(TEST_MS_MAX));
    const [admin] = await fixture.sql<{ id: string }>('select id from admin');
    const gateway = async (): Promise<string> =>
      (await fixture.host.run('wg', ['show', gatewayInterface(admin?.id ?? ''), 'peers'])).stdout;
    const key = await until('its row', async () => {
      const stored = await fixture.keyOf(other);
      return stored === '' ? null : stored;
    });
    await until(
      'both to know the other node',
      async () => (await one.peers()).some(({ publicKey }) => publicKey === key) && (await gateway()).includes(key),
    );
    const { node_id: third } = await fixture.rest.post<EnrollAnswer>(
      '/agents/enroll',
      enrollment((await fixture.key('red')).key),
    );

    await fixture.sql(
      `insert into mesh_member (node_id, cluster_id, host_index, public_key, endpoints, inserted_at, updated_at)
    select $1, cluster_id, 99, $2, '[]', now(), now() from mesh_member where node_id = $3`,
      [third, `_${makeKeyPair().publicKey.slice(1)}`, one.node],
    );
    t.is((await settledAnswer(() => fixture.rest.call('DELETE', `/nodes/${other.node}`))).status, 204);

    await until(
      'the member to forget the deleted node',
      async () => !(await one.peers()).some(({ publicKey }) => publicKey === key),
    );
    await until('the gateway to forget it', async () => !(await gateway()).includes(key));
    const told = await until('what health says of it', async () => {
      const checks = (await (await fetch(`${fixture.url}/healthz`)).json()) as readonly SubsystemCheck[];
      const check = checks.find(({ name }) => name === 'vpn_client');
      return check?.error?.startsWith('left out of the VPN') && check; // a busy machine may have another problem first
    });
    t.like(told, { healthy: true, error: `left out of the VPN: node ${third} (its WireGuard key is none)` });
  },
);
