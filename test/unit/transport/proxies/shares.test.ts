/** A full proxy: whoever holds the most makes room for whoever holds less. */
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../support/until.ts';
import { rest } from '../../../support/net/stream-pairs.ts';
import { basic, echoes, openProxies, type ProxiesFixture } from '../../../support/net/proxies-fixture.ts';
import { IDLE_GIVES_WAY_MS, SHARES_LOOK_MS_MIN } from '../../../../transport/proxies/limits.ts';
import { Shares } from '../../../../transport/proxies/shares.ts';
import { handshake, LET_IN, take } from './socks5-client.ts';
import { openTarget } from '../../../support/net/listening.ts';

/** Connections of a proxy in these tests. */
const CONNECTIONS = 20;

/** From another address of this machine. */
const OTHER = '127.0.0.2';

function dial(t: ExecutionContext, port: number, localAddress: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true });
  socket.on('error', () => {});
  t.teardown(() => void socket.destroy());
  return socket;
}

/** Opens a tunnel that stays idle, by either protocol; rejects where it is refused. */
const OPENERS: Readonly<
  Record<'http' | 'socks5', (t: ExecutionContext, proxy: ProxiesFixture, port: number, from: string) => Promise<Socket>>
> = {
  async http(t, { httpPort }, port, from) {
    const socket = dial(t, httpPort, from);
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${basic('_')}\r\n\r\n`);
    await take(socket, 'HTTP/1.1 200 Connection established\r\n\r\n'.length);
    return socket;
  },
  async socks5(t, { socksPort }, port, from) {
    const socket = dial(t, socksPort, from);
    socket.write(handshake([127, 0, 0, 1], port));
    await take(socket, LET_IN.length + 10);
    return socket;
  },
};

/** Resolves when it is closed, by a reset too. */
function over(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
  });
}

for (const protocol of ['http', 'socks5'] as const) {
  test(`${protocol}: a client whose idle tunnels hold all places loses one to each client of another address, and no more`, async (t) => {
    const target = await openTarget(t, echoes);
    const proxy = await openProxies(t, { limits: { connectionsMax: CONNECTIONS } });
    const open = OPENERS[protocol];
    const honest = await open(t, proxy, target.port, '127.0.0.1');
    const held = await Promise.all(
      Array.from({ length: CONNECTIONS - 1 }, async () => (await open(t, proxy, target.port, OTHER)).resume()),
    );

    const others = await Promise.all(Array.from({ length: 4 }, () => open(t, proxy, target.port, '127.0.0.1')));

    for (const socket of [honest, ...others]) {
      socket.end('well');
      t.is((await rest(socket)).bytes.toString(), 'well');
    }
    await until('four are cut', () => held.filter(({ destroyed }) => destroyed).length >= 4);
    t.is(held.filter(({ destroyed }) => destroyed).length, 4, 'those that were idle for longest, and no more');
  });

  test(`${protocol}: a client that comes and comes again cuts nobody of another address who holds less`, async (t) => {
    const target = await openTarget(t, echoes);
    const proxy = await openProxies(t, { limits: { connectionsMax: CONNECTIONS } });
    const open = OPENERS[protocol];
    const honest = [
      await open(t, proxy, target.port, '127.0.0.1'),
      dial(t, protocol === 'http' ? proxy.httpPort : proxy.socksPort, '127.0.0.1'),
    ];
    await Promise.all(Array.from({ length: CONNECTIONS - 2 }, () => open(t, proxy, target.port, OTHER)));

    for (let count = 0; count < 10; count += 1) await t.throwsAsync(open(t, proxy, target.port, OTHER));

    t.deepEqual(
      honest.map(({ destroyed }) => destroyed),
      [false, false],
    );
  });

  test(`${protocol}: on a full server what nobody used for long makes room for its own address, and what is used does not`, async (t) => {
    const target = await openTarget(t, (socket) => socket.pipe(socket));
    const proxy = await openProxies(t, { limits: { connectionsMax: 3, idleGivesWayMs: 300 } });
    const open = OPENERS[protocol];
    const [idle, used, alsoUsed] = [
      await open(t, proxy, target.port, OTHER),
      await open(t, proxy, target.port, OTHER),
      await open(t, proxy, target.port, OTHER),
    ];
    const closed = over(idle);
    const beganMs = performance.now();
    while (performance.now() - beganMs < 400)
      for (const socket of [used, alsoUsed]) {
        // as busy as the time takes: it is what is looked at
        socket.write('x');
        await take(socket, 1);
      }

    const next = await open(t, proxy, target.port, OTHER);

    idle.resume();
    await closed;
    t.deepEqual(
      [used, alsoUsed, next].map(({ destroyed }) => destroyed),
      [false, false, false],
    );
  });
}

test('however many come to a full server, its connections are looked over once in a while and not for each', (t) => {
  let looks = 0;
  const connection = {
    bytesWritten: 0,
    get bytesRead() {
      looks += 1;
      return 0;
    },
  };
  const shares = new Shares<typeof connection>(IDLE_GIVES_WAY_MS);
  shares.add(connection, 'holder', 0);
  looks = 0;

  for (let nowMs = 0; nowMs < 10 * SHARES_LOOK_MS_MIN; nowMs += 1) shares.giver('another', [], nowMs);

  t.is(looks, 10);
});

test('a newcomer sees what moved before it came, as long as nobody has looked just now', (t) => {
  const [used, idle] = [
    { bytesRead: 0, bytesWritten: 0 },
    { bytesRead: 0, bytesWritten: 0 },
  ];
  const shares = new Shares<typeof used>(IDLE_GIVES_WAY_MS);
  shares.add(used, 'holder', 0);
  shares.add(idle, 'holder', 0);
  used.bytesWritten += 1;

  const giver = shares.giver('holder', [], IDLE_GIVES_WAY_MS);
  shares.delete(idle);

  t.is(giver, idle);
  t.is(shares.giver('holder', [], IDLE_GIVES_WAY_MS), undefined);
});
