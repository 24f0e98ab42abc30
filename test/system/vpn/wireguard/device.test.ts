/** Devices over real wireguard-go, with real packets, on machines that have a network of their own. */
import { readFileSync } from 'node:fs';
import ava, { type ExecutionContext } from 'ava';
import { makeKeyPair } from '../../../../transport/vpn/wireguard/keys.ts';
import type { Program } from '../../../support/fleet/program.ts';
import type { Machine } from '../../../support/networks/machine.ts';
import { startInternet } from '../../../support/networks/internet.ts';
import { peerTest } from '../../../support/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { DeviceHost, peerOf, programOf, startEnd, type End } from './device-host.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'ping', 'wireguard-go', 'wg');

const scope = createScope();
let machines: readonly [Machine, Machine];

test.before(async () => {
  const internet = await startInternet(scope);
  machines = [await internet.host('one'), await internet.host('other')];
});

ava.after.always(() => scope.end());

/** Two interfaces that know each other, on the two machines. */
async function startPair(t: ExecutionContext): Promise<readonly [End, End]> {
  const [one, other] = await Promise.all([startEnd(t, machines[0], 5), startEnd(t, machines[1], 6)]);
  await Promise.all([
    one.device.apply({ set: [peerOf(other)], removed: [] }),
    other.device.apply({ set: [peerOf(one)], removed: [] }),
  ]);
  return [one, other];
}

/** Whether a packet comes back, tried until the sessions are there. */
async function reaches(machine: Machine, address: string): Promise<void> {
  await until(`an answer of ${address}`, () =>
    machine.run('ping', ['-n', '-c', '1', '-W', '1', address]).then(() => true),
  );
}

async function isSilent(machine: Machine, address: string): Promise<boolean> {
  return machine.run('ping', ['-n', '-c', '3', '-i', '0.1', '-W', '1', address]).then(
    () => false,
    () => true,
  );
}

/** What `ip` says, one line each. */
async function lines(machine: Machine, ...words: readonly string[]): Promise<string[]> {
  return (await machine.run('ip', words)).stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

async function addresses(machine: Machine, name: string): Promise<string[]> {
  return (await lines(machine, '-oneline', 'address', 'show', 'dev', name))
    .map((line) => /inet6? (\S+)/u.exec(line)?.[1] ?? '')
    .toSorted();
}

async function routes(machine: Machine, name: string): Promise<string[]> {
  const all = [
    ...(await lines(machine, '-4', 'route', 'show', 'dev', name)),
    ...(await lines(machine, '-6', 'route', 'show', 'dev', name)),
  ];
  return all
    .map((line) => line.split(' ')[0] ?? '')
    .filter((range) => !range.startsWith('ff00:'))
    .toSorted();
}

test.serial(
  'two interfaces that know each other carry packets of IPv4 and IPv6, and say since when, from where and how much',
  async (t) => {
    const [one, other] = await startPair(t);
    t.deepEqual([one.device.backend, one.device.isAdopted, one.device.listenPort], ['user-space', false, 41_005]);
    t.deepEqual(await one.device.read(), [
      {
        publicKey: other.pair.publicKey,
        endpoint: other.endpoint,
        allowedIps: ['100.64.0.6/32', 'fd00:edfe::6/128'],
        handshakeAtMs: null,
        receivedBytes: 0,
        sentBytes: 0,
      },
    ]);

    await reaches(one.machine, other.address);
    await reaches(other.machine, one.address6);

    const [reading] = await other.device.read();
    t.is(reading?.endpoint, one.endpoint);
    t.true(Math.abs(Date.now() - (reading?.handshakeAtMs ?? 0)) < 60_000);
    t.true((reading?.receivedBytes ?? 0) > 100 && (reading?.sentBytes ?? 0) > 100);
    t.deepEqual(await addresses(one.machine, one.device.name), ['100.64.0.5/24', 'fd00:edfe::5/64']);
    t.deepEqual(await routes(one.machine, one.device.name), ['100.64.0.0/24', 'fd00:edfe::/64']);
    t.is((await one.machine.run('nft', ['list', 'ruleset'])).stdout, '', 'no rule of a firewall comes with it');
  },
);

test.serial(
  'peers are added, changed and removed by name; those that are not named stay, and an endpoint that is not given too',
  async (t) => {
    const [one, other] = await startPair(t);
    const [second, third] = [makeKeyPair().publicKey, makeKeyPair().publicKey];

    await one.device.apply({
      set: [second, third].map((publicKey, index) => ({
        publicKey,
        allowedIps: [`100.64.0.${20 + index}/32`],
        endpoint: '[2001:db8::7]:7',
        keepaliveSeconds: 0,
      })),
      removed: [],
    });
    await one.device.apply({
      set: [
        { ...peerOf(other, { endpoint: null }), allowedIps: [`${other.address}/32`] },
        { publicKey: second, allowedIps: ['100.64.0.21/32'], endpoint: '198.51.100.9:9', keepaliveSeconds: 25 },
      ],
      removed: [third, makeKeyPair().publicKey],
    });

    const told = Object.fromEntries(
      (await one.device.read()).map(({ publicKey, endpoint, allowedIps }) => [publicKey, [endpoint, ...allowedIps]]),
    ); // in whatever order: wireguard-go has none
    t.deepEqual(told, {
      [other.pair.publicKey]: [other.endpoint, '100.64.0.6/32'],
      [second]: ['198.51.100.9:9', '100.64.0.21/32'],
    });
    await reaches(one.machine, other.address);
    t.true(await isSilent(one.machine, other.address6));
    await one.device.apply({ set: [], removed: [other.pair.publicKey] });
    t.true(await isSilent(one.machine, other.address));
  },
);

test.serial('a peer that somebody else put into the interface is seen, and goes when it is told to', async (t) => {
  const [one, other] = await startPair(t);
  const stranger = makeKeyPair().publicKey;
  await one.machine.run('wg', ['set', one.device.name, 'peer', stranger, 'allowed-ips', '100.64.0.99/32']);

  t.deepEqual(
    (await one.device.read()).map(({ publicKey }) => publicKey).toSorted(),
    [other.pair.publicKey, stranger].toSorted(),
  );
  await one.device.apply({ set: [], removed: [stranger] });
  t.deepEqual(
    (await one.device.read()).map(({ publicKey }) => publicKey),
    [other.pair.publicKey],
  );
});

/** Prints the type and the length of each packet of WireGuard that arrives, and from when on it listens. */
const LISTENER =
  "require('dgram').createSocket('udp4').on('message', (packet) => console.log(packet[0], packet.length)).bind(47000, () => console.log('listens'))";

/** Listens where nobody of WireGuard is. */
async function listen(
  t: ExecutionContext,
  { machine }: End,
): Promise<{ readonly endpoint: string; readonly program: Program }> {
  const program = machine.spawn(process.execPath, ['-e', LISTENER]);
  t.teardown(async () => {
    program.kill();
    await program.exited;
  });
  await until('the listener', () => program.output.includes('listens'));
  return { endpoint: `${machine.address}:47000`, program };
}

for (const keepaliveSeconds of [0, 25]) {
  test.serial(
    `a kick speaks at once to the new endpoint of a peer, with keepalives each ${keepaliveSeconds} s, which stay as they were`,
    async (t) => {
      const [one, other] = await startPair(t);
      await one.device.apply({ set: [peerOf(other, { keepaliveSeconds })], removed: [] });
      const { endpoint, program } = await listen(t, other);
      await reaches(one.machine, other.address);
      const change = { publicKey: other.pair.publicKey, endpoint };
      const sent = async (): Promise<number> => (await one.device.read())[0]?.sentBytes ?? 0;
      const before = await sent();

      await one.device.setEndpoints([{ ...change, isSentNow: false }]);
      t.is(await sent(), before, 'an endpoint alone sends nothing');
      await one.device.setEndpoints([
        { ...change, isSentNow: true },
        { publicKey: makeKeyPair().publicKey, endpoint: '192.0.2.1:1', isSentNow: true },
      ]);

      await until('the keepalive', () => program.output.includes('4 32\n')); // a packet of data with nothing in it
      t.is(await sent(), before + 32);
      t.deepEqual(
        (await one.device.read()).map(({ publicKey, endpoint }) => [publicKey, endpoint]),
        [[other.pair.publicKey, change.endpoint]],
        'a peer that is not there is left out',
      );
      const dump = (await one.machine.run('wg', ['show', one.device.name, 'persistent-keepalive'])).stdout;
      t.is(dump.trim(), `${other.pair.publicKey}\t${keepaliveSeconds === 0 ? 'off' : keepaliveSeconds}`);
    },
  );
}

test.serial(
  'an interface outlives its owner that was killed: the next adopts it with its peers, and no packet is lost',
  async (t) => {
    const [one, other] = await startPair(t);
    await reaches(one.machine, other.address);
    const pings = 150;
    // until so many answers are there, however late
    const ping = other.machine.spawn('ping', ['-n', '-i', '0.02', '-c', `${pings}`, '-w', '60', one.address]);

    await one.host.kill();
    const heir = DeviceHost.start(t, one.machine.entry);
    const device = await heir.open(one.options);

    t.true(device.isAdopted);
    const program = programOf(device.name);
    t.deepEqual(
      readFileSync(`/proc/${program}/stat`, 'latin1').split(' ').slice(4, 6),
      [`${program}`, `${program}`],
      'a group and a session of its own, so that no signal to those of its owner reaches it',
    );
    t.deepEqual(
      (await device.read()).map(({ publicKey, endpoint }) => [publicKey, endpoint]),
      [[other.pair.publicKey, other.endpoint]],
    );
    t.deepEqual(await addresses(one.machine, device.name), ['100.64.0.5/24', 'fd00:edfe::5/64']);
    await ping.exited;
    t.deepEqual(
      [...ping.output.matchAll(/icmp_seq=(\d+) ttl/gu)].map(([, sequence]) => Number(sequence)),
      Array.from({ length: pings }, (_, index) => index + 1),
    );
    const { endpoint, program: listener } = await listen(t, other);
    await device.setEndpoints([{ publicKey: other.pair.publicKey, endpoint, isSentNow: true }]);
    await until('a kick by the new owner', () => listener.output.includes('4 32\n'));
  },
);

test.serial(
  'an interface with another key or port is made anew, without its peers; one with another MTU gets it',
  async (t) => {
    const [one] = await startPair(t);
    const program = programOf(one.device.name);
    const reopen = async (more: Partial<End['options']>) => {
      const device = await one.host.open({ ...one.options, ...more });
      return {
        isAdopted: device.isAdopted,
        peers: (await device.read()).length,
        isSameProgram: programOf(device.name) === program,
      };
    };

    t.deepEqual(await reopen({ mtu: 1_280 }), { isAdopted: true, peers: 1, isSameProgram: true });
    t.regex((await lines(one.machine, 'link', 'show', 'dev', one.device.name)).join(' '), /mtu 1280 /u);
    t.deepEqual(await reopen({ listenPort: 41_777 }), { isAdopted: false, peers: 0, isSameProgram: false });
    t.deepEqual(await reopen({ listenPort: 41_777, privateKey: makeKeyPair().privateKey }), {
      isAdopted: false,
      peers: 0,
      isSameProgram: false,
    });
  },
);

test.serial('a new key begins sessions anew with those who know it, and ends those with the others', async (t) => {
  const [one, other] = await startPair(t);
  await reaches(one.machine, other.address);
  const next = makeKeyPair();

  await one.device.setPrivateKey(next.privateKey);
  await other.device.apply({ set: [{ ...peerOf(one), publicKey: next.publicKey }], removed: [one.pair.publicKey] });

  await reaches(one.machine, other.address);
  const [reading, ...more] = await other.device.read();
  t.is(more.length, 0);
  t.is(reading?.publicKey, next.publicKey);
  t.true((reading?.handshakeAtMs ?? 0) > 0);
});

test.serial(
  'addresses are exactly those that were asked for, whoever added others; the same again changes nothing',
  async (t) => {
    const [one, other] = await startPair(t);
    const { machine, device } = one;
    await machine.run('ip', ['address', 'delete', '100.64.0.5/24', 'dev', device.name]);
    for (const words of [
      ['100.64.7.77/24'],
      ['100.64.7.5/24'],
      ['192.0.2.7/24'],
      ['192.0.2.8', 'peer', '192.0.2.9/32'],
      ['100.64.0.77/24'],
      ['2001:db8::7/64', 'nodad'],
    ])
      await machine.run('ip', ['address', 'add', ...words, 'dev', device.name]);

    await device.setAddresses(['100.64.7.5/24', 'fd00:edf::5/64']);
    t.deepEqual(await addresses(machine, device.name), ['100.64.7.5/24', 'fd00:edf::5/64']);
    t.deepEqual(await routes(machine, device.name), ['100.64.7.0/24', 'fd00:edf::/64']);
    const before = await lines(machine, '-details', 'address', 'show', 'dev', device.name);
    await device.setAddresses(['fd00:edf::5/64', '100.64.7.5/24']);
    t.deepEqual(await lines(machine, '-details', 'address', 'show', 'dev', device.name), before);

    await device.setAddresses(['100.64.7.6/24', 'fd00:edf::6/64']); // in the ranges that it had
    t.deepEqual(await addresses(machine, device.name), ['100.64.7.6/24', 'fd00:edf::6/64']);
    await device.setAddresses([`${one.address}/24`]);
    await reaches(machine, other.address);
    await machine.run('ip', ['link', 'set', 'dev', device.name, 'down']);
    await device.setAddresses([`${one.address}/24`]);
    await reaches(machine, other.address);
    await device.setAddresses([]);
    t.deepEqual(await addresses(machine, device.name), []);
  },
);

test.serial('a machine without IPv6 has the IPv4 part', async (t) => {
  const [one, other] = await startPair(t);
  const switchOff = (value: number) =>
    one.machine.run('sh', [
      '-c',
      `echo ${value} | tee /proc/sys/net/ipv6/conf/all/disable_ipv6 > /proc/sys/net/ipv6/conf/default/disable_ipv6`,
    ]);
  t.teardown(async () => {
    await switchOff(0);
  });
  await switchOff(1);

  await one.device.setAddresses(['100.64.0.5/24', 'fd00:edfe::5/64']);
  await one.device.remove();
  const device = await one.host.open(one.options);
  await device.setAddresses(['100.64.0.5/24', 'fd00:edfe::5/64']);
  await device.apply({ set: [peerOf(other)], removed: [] });

  t.deepEqual(await addresses(one.machine, device.name), ['100.64.0.5/24']);
  await reaches(one.machine, other.address);
});

test.serial('the MTU is as asked, and packets are as long', async (t) => {
  const [one, other] = await startPair(t);
  await reaches(one.machine, other.address);
  const passes = (bytes: number) =>
    one.machine.run('ping', ['-n', '-c', '1', '-M', 'do', '-s', `${bytes - 28}`, '-W', '5', other.address]).then(
      () => true,
      () => false,
    ); // less IPv4 and ICMP

  t.deepEqual([await passes(1_420), await passes(1_421)], [true, false]);
  await one.device.setMtu(1_280);
  t.deepEqual([await passes(1_280), await passes(1_281)], [true, false]);
  await t.throwsAsync(one.device.setMtu(20), { message: /^the MTU of an interface lies between/u });
});

test.serial(
  'the loss of its program is said once; what is asked then says so, and the interface can be opened again',
  async (t) => {
    const [one] = await startPair(t);
    const sentence = `the interface ${one.device.name} is gone: its program wireguard-go ended`;

    process.kill(programOf(one.device.name), 'SIGKILL');

    t.is(await one.device.lost, sentence);
    await t.throwsAsync(one.device.read(), { message: sentence });
    await t.throwsAsync(one.device.setAddresses([]), { message: sentence });
    const device = await one.host.open(one.options);
    t.deepEqual([device.isAdopted, await device.read()], [false, []]);
  },
);

test.serial('an interface that somebody deleted is lost, and its program ends', async (t) => {
  const [one] = await startPair(t);
  const program = programOf(one.device.name);

  await one.machine.run('ip', ['link', 'delete', 'dev', one.device.name]);

  t.regex(await one.device.lost, /is gone/u);
  await until('the end of the program', () => {
    try {
      process.kill(program, 0);
    } catch {
      return true;
    }
    return false;
  });
});

test.serial('calls are carried out in their order, without waiting for each other', async (t) => {
  const [one, other] = await startPair(t);
  const { device } = one;

  const [, , , reading] = await Promise.all([
    device.apply({ set: [], removed: [other.pair.publicKey] }),
    device.apply({ set: [peerOf(other)], removed: [] }),
    device.setEndpoints([{ publicKey: other.pair.publicKey, endpoint: '192.0.2.1:1', isSentNow: false }]),
    device.read(),
    device.apply({ set: [], removed: [other.pair.publicKey] }),
  ]);

  t.deepEqual(
    reading.map(({ endpoint }) => endpoint),
    ['192.0.2.1:1'],
  );
  t.deepEqual(await device.read(), []);
});

test.serial('a hundred peers are one call, and so are a hundred endpoints', async (t) => {
  const [one] = await startPair(t);
  const set = Array.from({ length: 100 }, (_, index) => ({
    publicKey: makeKeyPair().publicKey,
    allowedIps: [`100.64.1.${index}/32`, `fd00:edfe::1:${index}/128`],
    endpoint: `192.0.2.1:${1_000 + index}`,
    keepaliveSeconds: 25,
  }));

  await one.device.apply({ set, removed: [] });
  t.log(`apply of 100 peers: ${one.host.tookMs.toFixed(0)} ms`);
  await one.device.setEndpoints(
    set.map(({ publicKey }, index) => ({ publicKey, endpoint: `192.0.2.2:${2_000 + index}`, isSentNow: false })),
  );
  t.log(`100 endpoints: ${one.host.tookMs.toFixed(0)} ms`);

  const endpoints = new Map((await one.device.read()).map(({ publicKey, endpoint }) => [publicKey, endpoint]));
  t.deepEqual(
    set.map(({ publicKey }) => endpoints.get(publicKey)),
    set.map((_, index) => `192.0.2.2:${2_000 + index}`),
  );
});

test.serial(
  'one that is let go of stays and carries packets; its name alone is enough to remove it, twice does no harm',
  async (t) => {
    const [one, other] = await startPair(t);
    await one.device.release();
    await t.throwsAsync(one.device.read(), { message: `the interface ${one.device.name} was let go of` });
    await reaches(other.machine, one.address);

    await one.host.removeDevice(one.device.name);

    t.throws(() => programOf(one.device.name));
    t.deepEqual(
      (await lines(one.machine, '-oneline', 'link')).filter((line) => line.includes(one.device.name)),
      [],
    );
    await one.host.removeDevice(one.device.name);
    await other.device.remove();
    t.throws(() => programOf(other.device.name));
  },
);
