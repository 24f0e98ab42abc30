/** A database that was set back to before a machine was installed: what the line does on that machine. */
import { hangAfter } from '../../support/busy.ts';
import { CLUSTER } from '../../support/fleet.ts';
import { nodeIn, startInstallingFleet } from '../../support/installing/installing-fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('root', 'debian-root');

test('a node that its admins do not know any more says that it has no key, and is the same node again by the line', async (t) => {
  t.timeout(hangAfter(240_000));
  const { fleet, line, machine: machineOf } = await startInstallingFleet(t);
  const machine = await machineOf(t);
  const installed = await machine.run(await line(CLUSTER, '--name', 'web-1'));
  const node = nodeIn(installed.stdout);
  await machine.run('edge-agentctl stop agent');
  await fleet.sql('delete from node where id = $1', [node]); // as if it had joined after the dump
  await machine.run('edge-agentctl start agent');
  await until('it says so', () => /No admin knows this node, and /u.test(machine.read('/var/log/edge/agent.log')));

  const again = await machine.run(await line(CLUSTER, '--name', 'web-1'));

  t.regex(machine.read('/var/log/edge/agent.log'), /has no ENROLLMENT_KEY to join again with: .*give it a new one/u);
  t.regex(again.stdout, /healthy after/u, again.stderr + machine.read('/var/log/edge/agent.log').slice(-2_000));
  t.is(nodeIn(again.stdout), node);
  t.notRegex(again.stderr, /not needed/u);
  t.notRegex(machine.read('/etc/edge-agent/agent.env'), /ENROLLMENT_KEY/u);
});
