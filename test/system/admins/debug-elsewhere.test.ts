/** The debug page of one admin, looked at through another one. */
import test from 'ava';
import { hangAfter } from '../../support/busy.ts';
import { startFleet } from '../../support/fleet.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { until } from '../../support/until.ts';

const TEST_MS_MAX = 120_000;
const PASSWORD = 'password-of-the-dashboard';

test('what one admin shows of itself is seen at another one, and who is not there, or shows nothing, is named', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const shown = {
    ADMIN_DEBUG_DASHBOARD_ENABLED: 'true',
    ADMIN_DEBUG_DASHBOARD_USERNAME: 'operator',
    ADMIN_DEBUG_DASHBOARD_PASSWORD: PASSWORD,
  };
  const fleet = await startFleet(t, { admins: 2, agents: 1, env: shown });
  const { owner, other } = await ownership(fleet);
  const authorization = `Basic ${Buffer.from(`operator:${PASSWORD}`).toString('base64')}`;
  const look = async (query: string, headers: Readonly<Record<string, string>> = { authorization }) => {
    const response = await fetch(`${other.url}/admin/debug${query}`, { headers });
    return { status: response.status, text: await response.text() };
  };

  const page = await until('that the owner is known', async () => {
    const found = await look(`?admin=${owner.name}&kind=node`);
    return found.status === 200 ? found : null;
  });
  const stranger = await look(`?admin=${owner.name}`, {});
  const nobody = await look('?admin=nobody');
  await owner.kill();
  await owner.start({ ADMIN_DEBUG_DASHBOARD_ENABLED: 'false' });
  const off = await until('that it is back', async () => {
    const found = await look(`?admin=${owner.name}`);
    return found.text.includes('switched off') ? found : null;
  });

  t.regex(page.text, new RegExp(`Inside ${owner.name}`, 'u'));
  t.true(page.text.includes(`<code>${fleet.agent().node}</code>`), 'its actors and its sessions');
  t.deepEqual([stranger.status, nobody.status, off.status], [401, 404, 404]);
});
