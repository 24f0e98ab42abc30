/**
 * MTUs of single addresses beside that of their interface, and what the ways out of a machine take, over real
 * wireguard-go.
 */
import ava from 'ava';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { reaches, routes, startMachines, startPair, type Machines } from './pair.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'ping', 'wireguard-go', 'wg');

const scope = createScope();
let machines: Machines;

test.before(async () => {
  machines = await startMachines(scope);
});

ava.after.always(() => scope.end());

test.serial(
  'packets to an address that has an MTU of its own are as long, and all others as the interface says',
  async (t) => {
    const [one, other] = await startPair(t, machines);
    await one.device.setMtu(1_280);
    await reaches(one.machine, other.address);
    await reaches(one.machine, other.address6);
    const passes = (address: string, bytes: number) =>
      one.machine.succeeds('ping', ['-n', '-c', '3', '-i', '0.2', '-M', 'do', '-s', `${bytes}`, '-W', '5', address]);
    const [v4, v6] = [28, 48]; // headers of IP and ICMP
    const longest = async () => [
      await passes(other.address, 1_280 - v4),
      await passes(other.address, 1_281 - v4),
      await passes(other.address6, 1_408 - v6),
      await passes(other.address6, 1_409 - v6),
    ];

    t.deepEqual(await one.device.setPathMtus(new Map([[other.address6, 1_408]])), new Set());
    t.deepEqual(await longest(), [true, false, true, false]);
    t.deepEqual(
      await one.device.setPathMtus(
        new Map([
          [other.address, 1_440],
          [other.address6, 1_440],
        ]),
      ),
      new Set(),
    );
    t.deepEqual([await passes(other.address, 1_440 - v4), await passes(other.address, 1_441 - v4)], [true, false]);
    // what somebody else took away comes back with the same again, and what an earlier run left goes
    await one.machine.run('ip', ['route', 'delete', `${other.address}/32`, 'dev', one.device.name]);
    await one.machine.run('ip', [
      'route',
      'add',
      '100.64.0.9/32',
      'dev',
      one.device.name,
      'proto',
      '217',
      'mtu',
      '1400',
    ]);
    await one.device.setPathMtus(new Map([[other.address, 1_440]]));
    t.deepEqual(await routes(one.machine, one.device.name), ['100.64.0.0/24', '100.64.0.6', 'fd00:edfe::/64']);
    t.true(await passes(other.address, 1_440 - v4));
    await one.device.setPathMtus(new Map());
    t.deepEqual(await routes(one.machine, one.device.name), ['100.64.0.0/24', 'fd00:edfe::/64']);
    t.deepEqual(await longest(), [true, false, false, false]);
    await t.throwsAsync(one.device.setPathMtus(new Map([[other.address, 20]])), {
      message: /^the MTU of an interface/u,
    });
  },
);

test.serial('an address that the system refuses is named, and the others have their MTU', async (t) => {
  const [one, other] = await startPair(t, machines);
  const { name } = one.device;
  await one.machine.run('sh', ['-c', `echo 1 > /proc/sys/net/ipv6/conf/${name}/disable_ipv6`]);
  const mtus = new Map([
    [other.address6, 1_440],
    [other.address, 1_440],
  ]);

  t.deepEqual(await one.device.setPathMtus(mtus), new Set([other.address6]));
  t.deepEqual(await routes(one.machine, name), ['100.64.0.0/24', '100.64.0.6']);
});

test.serial(
  'how long packets to an address may be is what this machine knows: of its interfaces, and of what it learned',
  async (t) => {
    const [one, other] = await startPair(t, machines);
    const { machine, device } = one;
    const setMtu = (mtu: number) => machine.run('ip', ['link', 'set', 'dev', 'eth0', 'mtu', `${mtu}`]);
    t.teardown(async () => {
      await setMtu(1_500);
    });
    const { address } = other.machine;
    const unknown = '203.0.113.1';

    t.deepEqual(await device.readRooms([address, unknown]), new Map([[address, 1_500]]));
    await setMtu(1_400);
    t.deepEqual(await device.readRooms([unknown, address]), new Map([[address, 1_400]]));
    await setMtu(1_500);
    await machine.run('ip', ['route', 'add', `${address}/32`, 'dev', 'eth0', 'mtu', '1300']);
    t.teardown(async () => {
      await machine.run('ip', ['route', 'delete', `${address}/32`, 'dev', 'eth0']);
    });
    t.deepEqual(await device.readRooms([address]), new Map([[address, 1_300]]));
    t.deepEqual(await device.readRooms([]), new Map());
  },
);

test.serial(
  'path MTUs skip an address that leads to another interface by its range, or by a route that somebody set',
  async (t) => {
    const [one, other] = await startPair(t, machines);
    const { machine, device } = one;
    const mtus = new Map([
      [other.address, 1_440],
      ['100.64.0.9', 1_440],
    ]);
    const wayTo = async (address: string) =>
      (await machine.run('ip', ['route', 'get', address])).stdout.split(' uid')[0];
    await machine.run('ip', ['route', 'add', '100.64.0.9/32', 'dev', 'eth0']);
    t.teardown(async () => {
      await machine.run('ip', ['route', 'delete', '100.64.0.9/32', 'dev', 'eth0']);
    });
    const before = await wayTo('100.64.0.9');

    t.deepEqual(await device.setPathMtus(mtus), new Set(['100.64.0.9']));
    t.is(await wayTo('100.64.0.9'), before);
    await device.setPathMtus(new Map());
    t.is(await wayTo('100.64.0.9'), before);

    await machine.run('ip', ['route', 'add', '100.64.0.6/32', 'dev', 'eth0']);
    t.deepEqual(await device.setPathMtus(mtus), new Set(mtus.keys()));
    t.deepEqual(await routes(machine, device.name), ['100.64.0.0/24', 'fd00:edfe::/64']);
    await machine.run('ip', ['route', 'delete', '100.64.0.6/32', 'dev', 'eth0']);
    t.deepEqual(await device.setPathMtus(mtus), new Set(['100.64.0.9']));
    t.deepEqual(await routes(machine, device.name), ['100.64.0.0/24', '100.64.0.6', 'fd00:edfe::/64']);
  },
);
