/** What a device over real wireguard-go carries and has, and who has it, on machines with a network of their own. */
import ava from 'ava';
import { makeKeyPair } from '../../../../transport/vpn/wireguard/keys.ts';
import { hangAfter } from '../../../support/busy.ts';
import { lostOf, strayLostMax } from '../../../support/networks/echoes.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { lives, procFile } from '../../../support/processes.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { DeviceHost, hasEnded, peerOf, programOf, type End } from './device-host.ts';
import { addresses, ipLines, listen, reaches, routes, startMachines, startPair, type Machines } from './pair.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'ping', 'wireguard-go', 'wg');

const scope = createScope();
let machines: Machines;

test.before(async () => {
  machines = await startMachines(scope);
});

ava.after.always(() => scope.end());

test.serial(
  'two interfaces that know each other carry packets of IPv4 and IPv6, and say since when, from where and how much',
  async (t) => {
    const [one, other] = await startPair(t, machines);
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
  'addresses are exactly those that were asked for, whoever added others; the same again changes nothing',
  async (t) => {
    const [one, other] = await startPair(t, machines);
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
    const before = await ipLines(machine, '-details', 'address', 'show', 'dev', device.name);
    await device.setAddresses(['fd00:edf::5/64', '100.64.7.5/24']);
    t.deepEqual(await ipLines(machine, '-details', 'address', 'show', 'dev', device.name), before);

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
  const [one, other] = await startPair(t, machines);
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
  const [one, other] = await startPair(t, machines);
  await reaches(one.machine, other.address);
  const passes = (bytes: number) =>
    one.machine.succeeds('ping', [
      '-n',
      '-c',
      '3',
      '-i',
      '0.2',
      '-M',
      'do',
      '-s',
      `${bytes - 28}`,
      '-W',
      '5',
      other.address,
    ]); // less IPv4 and ICMP

  t.deepEqual([await passes(1_420), await passes(1_421)], [true, false]);
  await one.device.setMtu(1_280);
  t.deepEqual([await passes(1_280), await passes(1_281)], [true, false]);
  await t.throwsAsync(one.device.setMtu(20), { message: /^the MTU of an interface lies between/u });
});

test.serial(
  'an interface outlives its owner that was killed: the next adopts it with its peers, and no packet is lost',
  async (t) => {
    const [one, other] = await startPair(t, machines);
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
      procFile(program, 'stat').split(' ').slice(4, 6),
      [`${program}`, `${program}`],
      'a group and a session of its own, so that no signal to those of its owner reaches it',
    );
    t.deepEqual(
      (await device.read()).map(({ publicKey, endpoint }) => [publicKey, endpoint]),
      [[other.pair.publicKey, other.endpoint]],
    );
    t.deepEqual(await addresses(one.machine, device.name), ['100.64.0.5/24', 'fd00:edfe::5/64']);
    await ping.ended();
    const lost = lostOf(ping.output, pings);
    t.true(lost <= strayLostMax(), `${lost} lost`);
    const { endpoint, program: listener } = await listen(t, other);
    await device.setEndpoints([{ publicKey: other.pair.publicKey, endpoint, isSentNow: true }]);
    await until('a wake by the new owner', () => listener.output.includes('4 32\n'));
  },
);

test.serial(
  'an interface with another key or port is made anew, without its peers; one with another MTU gets it',
  async (t) => {
    const [one] = await startPair(t, machines);
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
    t.regex((await ipLines(one.machine, 'link', 'show', 'dev', one.device.name)).join(' '), /mtu 1280 /u);
    t.deepEqual(await reopen({ listenPort: 41_777 }), { isAdopted: false, peers: 0, isSameProgram: false });
    t.deepEqual(await reopen({ listenPort: 41_777, privateKey: makeKeyPair().privateKey }), {
      isAdopted: false,
      peers: 0,
      isSameProgram: false,
    });
  },
);

test.serial(
  'the loss of its program is said once; what is asked then says so, and the interface can be opened again',
  async (t) => {
    const [one] = await startPair(t, machines);
    const sentence = `the interface ${one.device.name} is gone: its program wireguard-go ended`;

    process.kill(programOf(one.device.name), 'SIGKILL');

    t.is(await one.device.lost, sentence);
    await t.throwsAsync(one.device.read(), { message: sentence });
    await t.throwsAsync(one.device.setAddresses([]), { message: sentence });
    // the kernel takes its time to remove it where it has many networks to end
    const device = await one.host.open(one.options, { limits: { goneMsMax: hangAfter(3_000) } });
    t.deepEqual([device.isAdopted, await device.read()], [false, []]);
  },
);

test.serial('an interface that somebody deleted is lost, and its program ends', async (t) => {
  const [one] = await startPair(t, machines);
  const program = programOf(one.device.name);

  await one.machine.run('ip', ['link', 'delete', 'dev', one.device.name]);

  t.regex(await one.device.lost, /is gone/u);
  await until('the end of the program', () => !lives(program));
});

test.serial(
  'one that is let go of stays and carries packets; its name alone is enough to remove it, twice does no harm',
  async (t) => {
    const [one, other] = await startPair(t, machines);
    await one.device.release();
    await t.throwsAsync(one.device.read(), { message: `the interface ${one.device.name} was let go of` });
    await reaches(other.machine, one.address);

    await one.host.removeDevice(one.device.name);

    await hasEnded(one.device.name);
    t.deepEqual(
      (await ipLines(one.machine, '-oneline', 'link')).filter((line) => line.includes(one.device.name)),
      [],
    );
    await one.host.removeDevice(one.device.name);
    await other.device.remove();
    await hasEnded(other.device.name);
  },
);
