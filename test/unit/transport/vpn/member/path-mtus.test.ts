/**
 * What an interface is told of the lengths of paths, and what that costs: with a device that writes down what it is
 * asked.
 */
import test, { type ExecutionContext } from 'ava';
import { MtuEcho } from '../../../../../transport/vpn/member/mtu-echo.ts';
import { PathMtus, type ReachedPeer } from '../../../../../transport/vpn/member/path-mtus.ts';
import type { DeviceBackend, WireguardDevice } from '../../../../../transport/vpn/wireguard/device.ts';
import { DeviceGone, DeviceProblem } from '../../../../../transport/vpn/wireguard/problem.ts';
import { until } from '../../../../support/until.ts';

const peer = (index: number, ipv4 = `127.33.0.${index}`): ReachedPeer => ({
  publicKey: `peer ${index}`,
  ipv4,
  ipv6: `fd00:33::${index}`,
  endpoint: `198.51.100.${index}:7`,
  sentBytes: 0,
});

interface Options {
  readonly isEnabled?: boolean;
  readonly reached?: readonly ReachedPeer[];
  readonly own?: readonly string[];
  readonly backend?: DeviceBackend;
  readonly room?: number;
}

/** Paths of a member at 127.33.0.1, and what its device was told. */
function open(t: ExecutionContext, options: Options = {}) {
  const { isEnabled = true, own = ['127.33.0.1/24'], backend = 'user-space', room = 1_500 } = options;
  const told: (readonly (readonly [string, number])[])[] = [];
  const looked: number[] = [];
  const made = { reached: options.reached ?? [peer(2)], problem: null as Error | null, told, looked };
  const device = {
    backend,
    setPathMtus: async (mtus: ReadonlyMap<string, number>) => {
      if (made.problem !== null) throw made.problem;
      told.push([...mtus]);
      return new Set<string>();
    },
    readRooms: async (addresses: readonly string[]) => {
      looked.push(addresses.length);
      return new Map(addresses.map((address) => [address, room]));
    },
  } as unknown as WireguardDevice;
  const mtus = new PathMtus({ isEnabled, reached: () => made.reached, own: () => own, changed: () => {} });
  t.teardown(() => mtus.close());
  const turn = (isRegular = false) => mtus.turn(device, isRegular);
  return { ...made, made, mtus, device, turn };
}

/** Turns until the path to a peer is known to take this. */
async function untilTakes(turn: () => Promise<void>, mtus: PathMtus, mtu: number): Promise<void> {
  await until(`packets of ${mtu} bytes`, async () => {
    await turn();
    return mtus.mtuOf('peer 2') === mtu;
  });
}

/** Somebody at 127.33.0.2 who answers. */
function answering(t: ExecutionContext): void {
  const echo = new MtuEcho(() => {});
  echo.listen(['127.33.0.2/24']);
  t.teardown(() => echo.listen([]));
}

test.serial('both addresses of a peer get what its path takes, once it is known', async (t) => {
  answering(t);
  const { turn, mtus, told } = open(t, { own: ['127.33.0.1/24', 'fd00:33::1/64'] });

  await untilTakes(turn, mtus, 1_440);
  t.deepEqual(told[0], []);
  t.deepEqual(told.at(-1), [
    ['127.33.0.2', 1_440],
    ['fd00:33::2', 1_440],
  ]);
});

test.serial('an address that is in no range of its own gets no route: it may be a machine of its LAN', async (t) => {
  answering(t);
  const { turn, mtus, told } = open(t); // without the range of IPv6

  await untilTakes(turn, mtus, 1_440);
  t.deepEqual(told.at(-1), [['127.33.0.2', 1_440]]);
});

test.serial('where WireGuard lets its packets be cut to pieces, they are shorter', async (t) => {
  answering(t);
  const { turn, mtus } = open(t, { backend: 'kernel' });

  await untilTakes(turn, mtus, 1_408);
  t.pass();
});

test.serial(
  'a member that does not use it takes back what an earlier run left, asks nobody, and answers',
  async (t) => {
    const off = open(t, { isEnabled: false });
    await off.turn();
    t.deepEqual([off.told, off.looked], [[[]], []]);

    const other = open(t, { own: ['127.33.0.2/24'], reached: [{ ...peer(2), ipv4: '127.33.0.1' }] });
    await untilTakes(other.turn, other.mtus, 1_440);
    await off.turn();
    t.deepEqual(off.looked, []);
  },
);

test.serial('one that is closed can be followed by another in the same process', async (t) => {
  answering(t);
  const first = open(t);
  await untilTakes(first.turn, first.mtus, 1_440);
  first.mtus.close();

  const second = open(t);
  await untilTakes(() => second.turn(true), second.mtus, 1_440);
  await second.mtus.leave(second.device);
  t.deepEqual(second.told.at(-1), []);
});

test.serial('a machine on which it does not work goes without, and a device that is gone says so', async (t) => {
  answering(t);
  const { turn, mtus, made } = open(t);
  await untilTakes(turn, mtus, 1_440);
  made.problem = new DeviceProblem('ip: it took too long');
  await turn(true);
  t.is(mtus.mtuOf('peer 2'), null);
  t.true(mtus.dueMs() > performance.now() + 30_000 || mtus.dueMs() === Infinity);
  const calls = made.told.length;
  for (let turns = 0; turns < 10; turns += 1) await turn(true);
  t.is(made.told.length, calls);

  const other = open(t);
  other.made.problem = new DeviceGone('gone');
  await t.throwsAsync(other.turn(true), { message: 'gone' });
});

test.serial('a hundred paths that take nothing longer are looked at together, and then left alone', async (t) => {
  const direct = Array.from({ length: 100 }, (_, index) => peer(index + 2));
  const { turn, looked, mtus } = open(t, { reached: direct, room: 1_000 });
  await until('all were looked at', async () => {
    await turn();
    return looked.reduce((sum, count) => sum + count, 0) >= 100;
  });
  const before = looked.length;
  t.true(before <= 3, `${before} looks`);
  t.true(mtus.dueMs() > performance.now() + 1_000);
  await turn();
  t.is(looked.length, before);
});

test.serial(
  'packets over a relay are longer than any path takes, and short as soon as the path is direct',
  async (t) => {
    const relayed = { ...peer(2), endpoint: null };
    const { turn, mtus, told, made, device } = open(t, { reached: [relayed] });
    await turn();
    t.deepEqual(told.at(-1), [['127.33.0.2', 8_960]]);
    t.is(mtus.mtuOf('peer 2'), 8_960);

    made.reached = [peer(2)];
    await mtus.narrow(device); // before packets go there
    t.deepEqual(told.at(-1), []);
    await turn();
    t.deepEqual(told.at(-1), []);
    t.is(mtus.mtuOf('peer 2'), null);
    made.reached = [];
    await turn();
    t.deepEqual(told.at(-1), []);
  },
);

test.serial('what only gets longer does not get so before packets go there', async (t) => {
  const { turn, mtus, told, made, device } = open(t, { reached: [] });
  await turn();
  made.reached = [{ ...peer(2), endpoint: null }];
  const calls = told.length;
  await mtus.narrow(device);
  t.is(told.length, calls);
  await turn();
  t.deepEqual(told.at(-1), [['127.33.0.2', 8_960]]);
});

test.serial('a relayed peer whose address leads elsewhere has packets as the VPN says', async (t) => {
  const { turn, mtus } = open(t, { reached: [{ ...peer(2), endpoint: null }], own: ['127.44.0.1/24'] });
  await turn();
  t.is(mtus.mtuOf('peer 2'), null);
});
