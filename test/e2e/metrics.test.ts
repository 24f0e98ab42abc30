/** Metrics of real agents, through a real admin. */
import test from 'ava';
import { FLEET_KEYS, startFleet } from '../support/fleet.ts';

test('the metrics of a node come through the admin, from all three sources', async (t) => {
  const fleet = await startFleet(t, { agents: 1 });
  const node = fleet.agents[0]?.node ?? '';

  const answers = await Promise.all(['host', 'agent', 'wireguard'].map(async (source) => {
    const answer = await fetch(`${fleet.admins[0]?.url}/api/v1/nodes/${node}/metrics/${source}/raw`, { headers: { authorization: `Bearer ${FLEET_KEYS.METRICS_KEY}` } });
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
  }));

  t.deepEqual(answers.map(({ status, type }) => [status, type]), Array.from({ length: 3 }, () => [200, 'text/plain; version=0.0.4; charset=utf-8']), JSON.stringify(answers));
  t.regex(answers[0]?.text ?? '', /^node_load1 /mu);
  t.regex(answers[1]?.text ?? '', /^edge_agent_info\{version="/mu);
});
