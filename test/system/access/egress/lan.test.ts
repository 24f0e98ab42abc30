/**
 * The LAN of an agent, seen through its proxies by curl: three networks, and no way between the outer two but the
 * agent.
 */
import { inOwnNetwork, networkProblem } from '../../../support/networks/cable.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import type { LanOutcome } from './lan-program.ts';

const test = await peerTest('curl');

test('what only the agent can reach is reached through it, and the agent itself is not', async (t) => {
  const problem = await networkProblem();
  if (problem !== null) {
    t.pass();
    t.log(problem);
    return;
  }

  const seen = JSON.parse(
    (await inOwnNetwork(`exec '${process.execPath}' '${import.meta.dirname}/lan-program.ts'`)).stdout,
  ) as LanOutcome;

  t.deepEqual(seen, {
    direct: 7,
    v4: Array.from({ length: 4 }, () => 'a neighbour greets 192.168.77.1'),
    v6: Array.from({ length: 4 }, () => 'a neighbour greets fd77::1'),
    byName: Array.from({ length: 3 }, () => 'a neighbour greets 192.168.77.1'),
    redirect: ['302', '403'],
    rebound: ['200', '403'],
    own: ['200', '508'],
    linkLocal: ['403', '200'],
    nobody: ['unreachable', 'unreachable'],
    chained: 'open',
    trapped: [],
  });
});
