/** Tunnels find the admin that wants them where agents know a balancer before all admins. */
import test from 'ava';
import { hangAfter, isCrowded } from '../../support/busy.ts';
import { behindBalancer, type BehindBalancer } from '../../support/fleet/behind-balancer.ts';
import { timelyAnswer } from '../../support/fleet/rest.ts';

const AGENTS = 3;
const ADMINS = 2;
const SOURCES = ['agent', 'host', 'wireguard'];
/** Of each source, at each admin. */
const ROUNDS = 2;

/** One test on a busy machine, in ms. */
const TEST_MS_MAX = 300_000;

/** What scrapes of everything at every admin came to, one after the other: 200, or what was said instead, and when. */
async function scraped({ rests, nodes }: BehindBalancer): Promise<readonly (number | string)[]> {
  const found: (number | string)[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    for (const rest of rests)
      for (const { id } of nodes)
        for (const source of SOURCES) {
          const beganMs = performance.now();
          const { status, text } = await timelyAnswer(() => rest.call('GET', `/nodes/${id}/metrics/${source}/raw`));
          const tookMs = Math.round(performance.now() - beganMs);
          found.push(status === 200 ? status : `${status} ${text} after ${tookMs} ms`);
        }
  return found;
}

/** Connections that went through the balancer so far. */
function through({ balancer }: BehindBalancer): number {
  return [...balancer.connections.values()].reduce((sum, count) => sum + count, 0);
}

const ALL = Array.from({ length: ADMINS * AGENTS * SOURCES.length * ROUNDS }, () => 200);

test.serial(
  'agents that know a balancer and get to the own URLs too: scrapes work at each admin, 36 of 36',
  async (t) => {
    t.timeout(hangAfter(TEST_MS_MAX));
    const fleet = await behindBalancer(t, { admins: ADMINS, agents: AGENTS, ownUrl: ({ url }) => url });

    const before = through(fleet);

    t.deepEqual(await scraped(fleet), ALL);
    t.true(isCrowded() || through(fleet) === before, 'tunnels go where they are wanted at once');
    t.is(ALL.length, 36);
  },
);

test.serial('agents that get to nothing but the balancer: the same, by whichever admin it leads to', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const fleet = await behindBalancer(t, {
    admins: ADMINS,
    agents: AGENTS,
    ownUrl: (_admin, place) => `http://127.0.0.${place + 1}:1`,
  });

  const before = through(fleet);

  t.deepEqual(await scraped(fleet), ALL);
  t.true(through(fleet) >= before + ADMINS * AGENTS);
});
