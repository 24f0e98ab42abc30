/** Names by way of a real systemd-resolved with a bus of its own, on a machine of its own. */
import type { ExecutionContext } from 'ava';
import { peerTest } from '../../../support/run/peer-test.ts';
import { peerPath } from '../../../support/run/peers.ts';
import { scaled } from '../../../support/busy.ts';
import { until } from '../../../support/until.ts';
import { interfaceUp, startMachine, UPSTREAM, type Machine } from './machine.ts';
import { network, OTHER, peer, THIRD } from '../../../support/agent/names-fixture.ts';

const test = await peerTest('root', 'ip', 'dbus-daemon', 'systemd-resolved');

/** Starts it as systemd would, without it. Its log is of no interest: what it does is looked at. */
const START = `
mount -t tmpfs tmpfs /run
mkdir -p /run/dbus /run/systemd/resolve /run/systemd/netif/links /etc/dbus-1/system.d /etc/systemd
grep -q '^systemd-resolve:' /etc/passwd || { echo 'systemd-resolve:x:997:997::/:/usr/sbin/nologin' >> /etc/passwd; echo 'systemd-resolve:x:997:' >> /etc/group; }
chown systemd-resolve: /run/systemd/resolve
cp "$RESOLVED"/usr/share/dbus-1/system.d/*.conf /etc/dbus-1/system.d/
printf '[Resolve]\\nDNS=${UPSTREAM}\\nLLMNR=no\\nMulticastDNS=no\\n' > /etc/systemd/resolved.conf
dbus-daemon --system --fork --nopidfile
program="$RESOLVED"/usr/lib/systemd/systemd-resolved; [ -x "$program" ] || program="$RESOLVED"/lib/systemd/systemd-resolved
"$program" > /dev/null 2>&1 &
tries=0; until "$RESOLVED"/usr/bin/resolvectl dns > /dev/null 2>&1 || [ $tries -eq 300 ]; do tries=$((tries + 1)); sleep 0.1; done
`;

async function machineWith(t: ExecutionContext): Promise<Machine> {
  return await startMachine(t, {
    resolvConf: { link: '/run/systemd/resolve/stub-resolv.conf' },
    prepare: START,
    resolved: await peerPath('systemd-resolved'),
  });
}

async function addresses(machine: Machine, name: string): Promise<readonly string[]> {
  const { stdout } = await machine.run('getent', 'ahosts', name);
  return [...new Set(stdout.split('\n').flatMap((line) => line.split(/\s+/u)[0] || []))].toSorted();
}

async function routes(machine: Machine): Promise<string> {
  return (await machine.run('sh', '-c', `"$RESOLVED"/usr/bin/resolvectl domain ${machine.interfaceName}`)).stdout;
}

test.serial('systemd-resolved asks us for names and addresses of the cluster, and others for the rest', async (t) => {
  const machine = await machineWith(t);
  await machine.start('resolver');
  await machine.update(network(), [peer(OTHER, 3, ['web-1'])]);
  await until('a way', async () => (await machine.state()).way);

  t.like(await machine.state(), { way: 'systemd-resolved', problem: null });
  t.deepEqual(await addresses(machine, 'web-1.prod.edge.internal'), ['100.64.1.3', 'fd00:64:1::3']);
  t.deepEqual(await addresses(machine, 'web-1.cluster-prod.edge.internal'), ['100.64.1.3', 'fd00:64:1::3']);
  t.deepEqual(await addresses(machine, 'outside.test'), ['192.0.2.7']);
  t.deepEqual(await addresses(machine, 'nobody.prod.edge.internal'), []);
  t.regex(
    (await machine.run('getent', 'hosts', '100.64.1.3')).stdout,
    new RegExp(`node-${OTHER}\\.prod\\.edge\\.internal`, 'u'),
  );
  t.is(machine.file('hosts'), '127.0.0.1 localhost\n');

  await machine.close();
  t.notRegex(await routes(machine), /prod/u);
  t.deepEqual(await addresses(machine, 'web-1.prod.edge.internal'), []);
  t.deepEqual(await addresses(machine, 'outside.test'), ['192.0.2.7']);
});

test.serial('it keeps neither an old address nor the absence of a name', async (t) => {
  const machine = await machineWith(t);
  await machine.start('resolver');
  await machine.update(network(), []);
  await until('a way', async () => (await machine.state()).way);
  t.deepEqual(await addresses(machine, 'web-1.prod.edge.internal'), []);

  const msEach: number[] = [];
  for (const host of [3, 4, 3, 4, 3]) {
    const peers = [peer(OTHER, host === 3 ? 3 : 4, ['web-1']), peer(THIRD, host === 3 ? 4 : 3)];
    msEach.push(await machine.timeTo(network(), peers, 'web-1.prod.edge.internal', `100.64.1.${host}`));
  }

  t.log(`systemd-resolved: ${msEach.map((ms) => ms.toFixed(1)).join(', ')} ms`);
  t.true((msEach.toSorted((one, other) => one - other)[2] ?? Number.NaN) < scaled(2_000));
});

test.serial(
  'an interface that is made anew is told of again, and one that a killed agent left is not when the next one goes',
  async (t) => {
    const machine = await machineWith(t);
    await machine.start('resolver');
    await machine.update(network(), [peer(OTHER, 3, ['web-1'])]);
    await until('a way', async () => (await machine.state()).way);

    await machine.run('ip', 'link', 'delete', machine.interfaceName);
    for (const command of interfaceUp(machine.interfaceName))
      t.is((await machine.run('sh', '-c', command)).status, 0, command);
    await until('names', async () => (await addresses(machine, 'web-1.prod.edge.internal')).length === 2);

    await machine.forget();
    await machine.remove();
    t.notRegex(await routes(machine), /prod/u);
  },
);
