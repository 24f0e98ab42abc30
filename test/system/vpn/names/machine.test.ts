/**
 * Names as programs of a machine find them: the C library's own lookups, curl and dig, on a machine with a network and
 * an /etc of its own.
 */
import type { ExecutionContext } from 'ava';
import { loopbackAddress } from '../../../../agent/vpn/names/resolver.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { scaled } from '../../../support/busy.ts';
import { until } from '../../../support/until.ts';
import { interfaceUp, startMachine, UPSTREAM, type Machine, type MachineOptions } from './machine.ts';
import { network, OTHER, peer, SELF, THIRD } from '../../../support/agent/names-fixture.ts';

const test = await peerTest('root', 'ip', 'curl', 'dig');

const PEERS = [peer(OTHER, 3, ['web-1']), peer(null, 1)];

async function machineWith(
  t: ExecutionContext,
  mode: 'resolver' | 'resolv.conf' | 'hosts',
  options: MachineOptions = {},
): Promise<Machine> {
  const machine = await startMachine(t, options);
  await machine.start(mode);
  await machine.update(network(), PEERS);
  await until('a way', async () => (await machine.state()).way);
  return machine;
}

/** Addresses of a name by getent, in its order; empty: there is none. */
async function addresses(machine: Machine, name: string): Promise<readonly string[]> {
  const { stdout } = await machine.run('getent', 'ahosts', name);
  return [...new Set(stdout.split('\n').flatMap((line) => line.split(/\s+/u)[0] || []))];
}

for (const mode of ['resolver', 'resolv.conf', 'hosts'] as const) {
  test.serial(`names of the cluster and of others lead there by ${mode}, and names of nobody nowhere`, async (t) => {
    const before = {
      hosts: '127.0.0.1 localhost\r\n10.0.0.1 printer',
      resolv: `search corp.test\nnameserver ${UPSTREAM}`,
    };
    const machine = await machineWith(t, mode, { hosts: before.hosts, resolvConf: before.resolv });

    t.is((await machine.state()).way, mode === 'resolver' ? 'hosts' : mode);
    for (const name of [
      'web-1.prod.edge.internal',
      'WEB-1.Prod.Edge.Internal',
      'web-1.cluster-prod.edge.internal',
      `node-${OTHER}.prod.edge.internal`,
    ]) {
      t.deepEqual((await addresses(machine, name)).toSorted(), ['100.64.1.3', 'fd00:64:1::3'], name);
    }
    t.deepEqual(
      await addresses(machine, 'gateway.prod.edge.internal'),
      await addresses(machine, 'gateway.cluster-prod.edge.internal'),
    );
    t.deepEqual(await addresses(machine, 'outside.test'), ['192.0.2.7']);
    t.deepEqual(await addresses(machine, 'printer'), ['10.0.0.1']);
    for (const name of ['web-2.prod.edge.internal', 'nobody.test', 'x.web-1.prod.edge.internal'])
      t.deepEqual(await addresses(machine, name), [], name);
    for (const address of ['100.64.1.3', 'fd00:64:1::3'])
      t.regex(
        (await machine.run('getent', 'hosts', address)).stdout,
        new RegExp(`\\snode-${OTHER}\\.prod\\.edge\\.internal`, 'u'),
        address,
      );
    t.is((await machine.state()).problem, null);

    await machine.close();
    t.deepEqual({ hosts: machine.file('hosts'), resolv: machine.file('resolv.conf') }, before);
    t.deepEqual(await addresses(machine, 'web-1.prod.edge.internal'), []);
  });

  test.serial(`an alias that moves is seen at once, by ${mode}`, async (t) => {
    const machine = await machineWith(t, mode);
    const msEach: number[] = [];
    for (const host of [3, 4, 3, 4, 3]) {
      const [web, other] = [peer(OTHER, host === 3 ? 3 : 4, ['web-1']), peer(THIRD, host === 3 ? 4 : 3)];
      msEach.push(await machine.timeTo(network(), [web, other], 'web-1.prod.edge.internal', `100.64.1.${host}`));
    }

    t.log(`${mode}: ${msEach.map((ms) => ms.toFixed(1)).join(', ')} ms`);
    t.true(msEach.toSorted((one, other) => one - other)[2]! < scaled(2_000));
  });

  test.serial(`curl finds a member by its name, by ${mode}`, async (t) => {
    const machine = await machineWith(t, mode);

    const { stderr } = await machine.run(
      'curl',
      '--silent',
      '--show-error',
      '--max-time',
      '20',
      `http://node-${SELF}.prod.edge.internal:81/`,
    );

    t.regex(stderr, /port 81 .*(?:Connection refused|Couldn't connect)/u); // the name was found, and nobody is there
  });
}

test.serial('without a word of the operator resolv.conf stays: Node would find no other names', async (t) => {
  const resolve = (machine: Machine) =>
    machine.run(
      process.execPath,
      '-e',
      "require('dns').resolve4('outside.test', (error, found) => console.log(error?.code ?? found.join()))",
    );
  const careful = await machineWith(t, 'resolver');
  const hooked = await machineWith(t, 'resolv.conf');

  t.is(careful.file('resolv.conf'), `nameserver ${UPSTREAM}\n`);
  t.is((await resolve(careful)).stdout, '192.0.2.7\n');
  t.is(
    (await resolve(hooked)).stdout,
    'EREFUSED\n',
    'when Node asks the next server, VPN_DNS_RESOLV_CONF can be the default',
  );
});

test.serial('search domains, many dots and other options of a resolv.conf lead to names of both sides', async (t) => {
  const machine = await machineWith(t, 'resolv.conf', {
    resolvConf: `search a.test b.test edge.internal\noptions ndots:5 edns0\nnameserver ${UPSTREAM}\n`,
  });

  t.is((await machine.state()).way, 'resolv.conf');
  for (const name of ['web-1.prod.edge.internal', 'web-1.prod'])
    t.deepEqual((await addresses(machine, name)).toSorted(), ['100.64.1.3', 'fd00:64:1::3'], name);
});

test.serial(
  'where resolv.conf is a link, has servers in turn, or names none, the hosts file is taken, and left as it was',
  async (t) => {
    for (const resolvConf of [{ link: 'elsewhere' }, `options rotate\nnameserver ${UPSTREAM}\n`, '# nothing\n']) {
      const machine = await machineWith(t, 'resolv.conf', { resolvConf });
      const { way, problem } = await machine.state();

      t.deepEqual([way, problem, (await addresses(machine, 'web-1.prod.edge.internal')).length], ['hosts', null, 2]);
      await machine.close();
      t.is(machine.file('hosts'), '127.0.0.1 localhost\n');
      if (typeof resolvConf === 'string') t.is(machine.file('resolv.conf'), resolvConf);
    }
  },
);

test.serial('where other programs have port 53 the hosts file is taken, until they are gone', async (t) => {
  const machine = await startMachine(t);
  const taken = ['100.64.1.2', 'fd00:64:1::2', loopbackAddress(SELF)];
  for (const address of taken) await machine.occupy(address);
  await machine.start('resolv.conf');
  await machine.update(network(), PEERS);

  await until('a way', async () => (await machine.state()).way);
  const { way, problem, log } = await machine.state();
  t.deepEqual([way, problem, (await addresses(machine, 'web-1.prod.edge.internal')).length], ['hosts', null, 2]);
  t.regex(log.join(), /"by":"hosts".*EADDRINUSE/u);
  t.notRegex(log.join(), /100\.64\.1\.|fd00:64/u); // R3

  for (const address of taken) await machine.occupy(address);
  await until('the resolver', async () => (await machine.state()).way === 'resolv.conf');
  t.is(machine.file('hosts'), '127.0.0.1 localhost\n');
  t.is((await addresses(machine, 'web-1.prod.edge.internal')).length, 2);
});

test.serial(
  'a hosts file that is read-only, or on a full disk, is left as it is and told of in a sentence',
  async (t) => {
    const full = `127.0.0.1 localhost\n${'# '.padEnd(4_000, 'x')}\n`;
    for (const [reason, prepare] of [
      ['the file system is read-only', 'mount -o remount,bind,ro /etc/hosts'],
      [
        'the disk is full',
        'mkdir "$TMPDIR/disk"; mount -t tmpfs -o size=4k tmpfs "$TMPDIR/disk"; cp /etc/hosts "$TMPDIR/disk/hosts"; mount --bind "$TMPDIR/disk/hosts" /etc/hosts',
      ],
    ] as const) {
      const machine = await startMachine(t, { hosts: full, prepare });
      await machine.start('hosts');
      await machine.update(network(), PEERS);

      t.is(
        await until('a problem', async () => (await machine.state()).problem),
        `Programs of this machine do not find names of the cluster: /etc/hosts: ${reason}`,
      );
      t.is((await machine.run('cat', '/etc/hosts')).stdout, full);
      await machine.close();
      t.is((await machine.run('cat', '/etc/hosts')).stdout, full);
    }
  },
);

test.serial('an interface that comes up late is waited for, in a sentence', async (t) => {
  const machine = await startMachine(t, { isDown: true });
  await machine.start('resolv.conf');
  t.is((await machine.state()).problem, null);
  await machine.update(network(), PEERS);
  t.is(
    await until('a problem', async () => (await machine.state()).problem),
    `Names of the cluster wait for the interface ${machine.interfaceName}`,
  );

  for (const command of interfaceUp(machine.interfaceName))
    t.is((await machine.run('sh', '-c', command)).status, 0, command);

  await until(
    'a way',
    async () => (await machine.state()).way === 'resolv.conf' && (await machine.state()).problem === null,
  );
  t.is((await addresses(machine, 'web-1.prod.edge.internal')).length, 2);
});

test.serial(
  'what a killed agent left is removed by the next start, by leaving, and is not in the way of other programs',
  async (t) => {
    const machine = await machineWith(t, 'resolv.conf');
    const left = machine.file('resolv.conf');
    t.regex(left, new RegExp(`^# BEGIN edge-agent ${SELF}\nnameserver 127\\.[\\d.]+\n# END edge-agent ${SELF}\n`, 'u'));
    await machine.close();
    const patience = 'options timeout:30\n'; // longer than a lookup takes on a busy machine
    machine.write('resolv.conf', left + patience);
    machine.write(
      'hosts',
      `127.0.0.1 localhost\n# BEGIN edge-agent ${SELF}\n100.64.1.3\tweb-1.prod.edge.internal web-1.cluster-prod.edge.internal\n10.0.0.1 printer\n`,
    ); // torn

    const { ms } = await machine.run('getent', 'ahosts', 'outside.test');
    t.log(`a lookup beside a resolver that is dead: ${ms.toFixed(0)} ms`);
    t.true(ms < 20_000, 'nobody waits for it: 30 s would be one try');
    await machine.forget();
    await machine.start('off');
    await until(
      'clean files',
      () =>
        machine.file('resolv.conf') === `nameserver ${UPSTREAM}\n${patience}` &&
        machine.file('hosts') === '127.0.0.1 localhost\n10.0.0.1 printer\n',
    );

    machine.write('resolv.conf', left);
    await machine.remove();
    t.is(machine.file('resolv.conf'), `nameserver ${UPSTREAM}\n`);
  },
);

test.serial('several agents of one machine have each their own block', async (t) => {
  const machine = await machineWith(t, 'hosts', { hosts: '127.0.0.1 localhost' });
  const other = network({
    cluster_name: 'lab',
    domain: 'lab.edge.internal',
    ipv4: '100.64.2.2',
    ipv4_range: '100.64.2.0/24',
    ipv6: 'fd00:64:2::2',
    ipv6_range: 'fd00:64:2::/64',
  });
  await machine.start('hosts', THIRD);
  await machine.update(other, [], THIRD);
  await until('a way', async () => (await machine.state(THIRD)).way);

  t.deepEqual(
    [
      (await addresses(machine, `node-${THIRD}.lab.edge.internal`)).length,
      (await addresses(machine, 'web-1.prod.edge.internal')).length,
    ],
    [2, 2],
  );
  await machine.close();
  t.deepEqual(
    [
      (await addresses(machine, `node-${THIRD}.lab.edge.internal`)).length,
      (await addresses(machine, 'web-1.prod.edge.internal')).length,
    ],
    [2, 0],
  );
  await machine.close(THIRD);
  t.is(machine.file('hosts'), '127.0.0.1 localhost');
});

test.serial('dig is answered by UDP and TCP, with and without EDNS', async (t) => {
  const machine = await machineWith(t, 'resolver');
  const dig = async (...words: readonly string[]) =>
    (await machine.run('dig', '+norecurse', '+tries=1', '+time=20', '+qid=7', '+nostats', ...words)).stdout;

  for (const how of ['+notcp', '+tcp', '+noedns', '+bufsize=4096', '+cookie']) {
    for (const server of ['@100.64.1.2', '@fd00:64:1::2']) {
      const answer = await dig(server, how, 'Web-1.prod.edge.internal', 'AAAA');
      t.regex(answer, /status: NOERROR.*\n.*flags: qr aa;/u, `${how} ${server}`);
      t.regex(answer, /^Web-1\.prod\.edge\.internal\.\s+0\s+IN\s+AAAA\s+fd00:64:1::3$/mu);
    }
  }
  t.regex(await dig('@100.64.1.2', 'example.com'), /status: REFUSED/u);
  t.regex(await dig('@100.64.1.2', 'prod.edge.internal', 'AXFR'), /Transfer failed/u);
  t.regex(await dig('@100.64.1.2', 'nobody.prod.edge.internal'), /status: NXDOMAIN[^]*AUTHORITY SECTION[^]*SOA/u);
  t.regex(await dig('@100.64.1.2', 'web-1.prod.edge.internal', 'TXT'), /status: NOERROR[^]*ANSWER: 0[^]*SOA/u);
  t.regex(await dig('@100.64.1.2', '-x', 'fd00:64:1::3'), new RegExp(`PTR\\s+node-${OTHER}\\.prod`, 'u'));
  t.regex(await dig('@100.64.1.2', '+edns=1', '+noednsnegotiation', 'web-1.prod.edge.internal'), /BADVERS/u);
  t.regex(await dig('@100.64.1.2', '+opcode=NOTIFY', 'web-1.prod.edge.internal'), /NOTIMP/u);
});
