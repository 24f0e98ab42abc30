/** Two admins with a relay each: regions of their own in one map, which every agent is told. */
import test from 'ava';
import { RELAY_GONE_MS } from '../../../persistence/vpn/relay-rows.ts';
import { newBoxKeys } from '../../../transport/vpn/derp/protocol.ts';
import type { RelayRegion } from '../../../transport/vpn/relay-map/map.ts';
import { RELAY_MAP_PATH } from '../../../transport/protocol/version.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { hangAfter } from '../../support/busy.ts';
import { connectedClient, mapOf } from '../../support/vpn/relay.ts';
import { until } from '../../support/until.ts';

/**
 * Longest until agents are told of another map, in ms: the time of a relay that is gone, two looks of 5 s, and a ping.
 */
const TOLD_MS_MAX = RELAY_GONE_MS + 20_000;

const regionsAt = async (admin: AdminProgram): Promise<readonly RelayRegion[]> => {
  const answer = await fetch(`${admin.url}${RELAY_MAP_PATH}`);
  return answer.ok ? [...mapOf(await answer.json()).regions.values()] : [];
};

/** A member of the cluster's VPN for each node; answers their private keys. */
async function members(fleet: Fleet): Promise<readonly string[]> {
  const keys = fleet.agents.map(() => newBoxKeys());
  for (const [index, { publicKey }] of keys.entries())
    await fleet.sql(
      `insert into mesh_member (node_id, cluster_id, host_index, public_key, endpoints, inserted_at, updated_at)
        select id, cluster_id, $2, $3, '[]', now(), now() from node where id = $1
        on conflict (node_id) do update set public_key = excluded.public_key`,
      [fleet.agent(index).node, 10 + index, publicKey.toString('base64')],
    );
  return keys.map(({ privateKey }) => privateKey.toString('base64'));
}

test('relays of two admins form one map and connect their members; a lost relay leaves it and keeps its region', async (t) => {
  t.timeout(hangAfter(120_000));
  const fleet = await startFleet(t, {
    agents: 2,
    env: { EMBEDDED_RELAY: 'true', EMBEDDED_RELAY_HOST: '127.0.0.1', EMBEDDED_RELAY_PORT: '0' },
  });
  const told = () => fleet.agents.map((agent) => agent.enrollment.settings.derp_map_urls);
  const versions = () => new Set(told().flatMap((urls) => urls.map((url) => new URL(url).search)));
  const isTold = (before: string) => versions().size === 1 && !versions().has(before);
  await until('agents to be told of the first relay', () => isTold(''), TOLD_MS_MAX);
  const [alone = ''] = versions();
  const [one, other] = [fleet.admin(0), await fleet.addAdmin()];
  const regions = await until('both relays in the map of both', async () => {
    const both = await Promise.all([regionsAt(one), regionsAt(other)]);
    return both.every(({ length }) => length === 2) && both;
  });
  t.deepEqual(regions[0], regions[1]);
  t.deepEqual(
    regions[0].map(({ code }) => code).toSorted(),
    fleet.admins.map(({ name }) => name),
  );
  await until('agents to be told of that map', () => isTold(alone), TOLD_MS_MAX);
  const [both = ''] = versions();

  const [first, second] = await members(fleet);
  const [here, there] = regions[0] as [RelayRegion, RelayRegion];
  const waiting = await connectedClient(t, there, { privateKey: second ?? '' });
  await connectedClient(t, here, { privateKey: first ?? '' });
  const sender = await connectedClient(t, there, { privateKey: first ?? '' }); // where the other one waits
  sender.connection.send(waiting.publicKey, Buffer.from('from the region of the other admin'));
  await until('the packet', () => waiting.packets.length > 0);

  const code = regions[0].find((region) => region.code === other.name)?.id;
  await other.kill();
  await until('its relay to leave the map', async () => (await regionsAt(one)).length === 1, TOLD_MS_MAX);
  await until('agents to be told', () => isTold(both), TOLD_MS_MAX);
  await other.start();
  await until('its relay in the map', async () => (await regionsAt(one)).length === 2, TOLD_MS_MAX);

  const again = await until(
    'its relay in its own map',
    async () => (await regionsAt(other)).find((region) => region.code === other.name)?.id,
  );
  t.is(again, code ?? 0);
});
