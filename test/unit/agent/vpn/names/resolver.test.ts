/** The resolver's sockets: real ones, on loopback. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { decode, encode, streamEncode, type Packet } from 'dns-packet';
import * as fc from 'fast-check';
import { createAdmission } from '../../../../../agent/vpn/names/admission.ts';
import {
  ALL_QUERIES_PER_SECOND_MAX,
  CONNECTION_IDLE_MS_MAX,
  CONNECTIONS_MAX,
  QUERIES_PER_SECOND_MAX,
  QUERY_BYTES_MAX,
} from '../../../../../agent/vpn/names/limits.ts';
import { Listener } from '../../../../../agent/vpn/names/listener.ts';
import { vpnRecords } from '../../../../../agent/vpn/names/records.ts';
import { createResolver, loopbackAddress, type Resolver } from '../../../../../agent/vpn/names/resolver.ts';
import { createFakeClock } from '../../../../support/fake-clock.ts';
import { udpSockets } from '../../../../support/vpn/udp-sockets.ts';
import { until } from '../../../../support/until.ts';
import { network, OTHER, peer, SELF } from '../../../../support/agent/names-fixture.ts';

const QUERY: Packet = {
  type: 'query',
  id: 7,
  flags: 0x01_00,
  questions: [{ name: 'web-1.prod.edge.internal', type: 'A' }],
};

/**
 * On loopback in place of the VPN's addresses. The port that the system gives for UDP may be another program's for
 * TCP: then another is asked for.
 */
async function resolver(
  t: ExecutionContext,
  aliases: readonly string[] = ['web-1'],
): Promise<{
  readonly resolver: Resolver;
  readonly port: number;
  readonly serve: (aliases: readonly string[]) => void;
}> {
  const made = createResolver({ port: 0, loopback: null, nowMs: () => performance.now(), changed: () => {} });
  const serve = (names: readonly string[]) => {
    const records = vpnRecords(SELF, network({ ipv4: '127.0.0.1', ipv6: '::1' }), [peer(OTHER, 3, names)]);
    if (records !== null) made.serve(records);
  };
  serve(aliases);
  const state = await until('listening', () => made.states.ipv4);
  if (!state.isListening) {
    await made.close();
    if (state.code === 'EADDRINUSE') return resolver(t, aliases);
    throw new Error(state.code);
  }
  t.teardown(() => made.close());
  return { resolver: made, port: state.port, serve };
}

async function udp(t: ExecutionContext): Promise<UdpSocket> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  t.teardown(() => {
    socket.close();
  });
  await once(socket, 'listening');
  return socket;
}

async function asked(socket: UdpSocket, port: number, packet: Packet = QUERY): Promise<ReturnType<typeof decode>> {
  socket.send(encode(packet), port, '127.0.0.1');
  const [answer] = (await once(socket, 'message')) as [Buffer];
  return decode(answer);
}

async function connected(t: ExecutionContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => {
    socket.destroy();
  });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/**
 * What comes of it, unless that took so long that connections which said nothing meanwhile are closed: this process may
 * be held up by what else runs in it.
 */
async function inTime<T>(act: () => Promise<T>): Promise<T | null> {
  const beganMs = performance.now();
  const made = await act();
  return performance.now() - beganMs < CONNECTION_IDLE_MS_MAX ? made : null;
}

test('the next query after a change is answered by it', async (t) => {
  const { port, serve } = await resolver(t);
  const socket = await udp(t);
  t.is((await asked(socket, port)).answers?.length, 1);

  serve(['web-2']);
  t.is((await asked(socket, port)).answers?.length, 0);
  serve(['web-1']);
  t.is((await asked(socket, port)).answers?.length, 1);
});

test('a query that says it comes from port 0 is dropped, as it cannot be answered', async (t) => {
  const socketOf = udpSockets(t);
  const { port } = await resolver(t);

  const query = encode(QUERY);
  t.notThrows(() =>
    socketOf(port).emit('message', query, { address: '127.0.0.1', family: 'IPv4', port: 0, size: query.length }),
  );

  t.is((await asked(await udp(t), port)).answers?.length, 1);
});

test('a connection takes many queries in any pieces, and answers each', async (t) => {
  const { port } = await resolver(t);
  const all = Buffer.concat(Array.from({ length: 5 }, (_, index) => streamEncode({ ...QUERY, id: index })));

  const ids = await until('a connection that was not silent for too long', () =>
    inTime(async () => {
      const socket = await connected(t, port);
      for (let at = 0; at < all.length; at += 7) {
        socket.write(all.subarray(at, at + 7));
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      }
      let got = Buffer.alloc(0);
      const answered: number[] = [];
      for await (const piece of socket) {
        for (
          got = Buffer.concat([got, piece as Buffer]);
          got.length >= 2 && got.length >= 2 + got.readUInt16BE(0);
          got = got.subarray(2 + got.readUInt16BE(0))
        )
          answered.push(got.readUInt16BE(2));
        if (answered.length === 5) break;
      }
      return answered;
    }),
  );

  t.deepEqual(ids, [0, 1, 2, 3, 4]);
});

test('a connection that sends too much, or no query, is closed', async (t) => {
  const { port } = await resolver(t);
  for (const bytes of [
    Buffer.from([(QUERY_BYTES_MAX + 1) >> 8, (QUERY_BYTES_MAX + 1) & 255]),
    Buffer.from([0, 3, 1, 2, 3]),
    Buffer.from([0, 0]),
  ]) {
    const socket = await connected(t, port);
    socket.write(bytes);
    await once(socket, 'close');
  }
  t.is((await asked(await udp(t), port)).answers?.length, 1);
});

test('connections beyond the limit are closed, and make no others wait', async (t) => {
  const answerBytes = await until('connections that were not silent for too long', () =>
    inTime(async () => {
      const { port } = await resolver(t);
      const held = await Promise.all(Array.from({ length: CONNECTIONS_MAX }, () => connected(t, port)));
      const refused = connect(port, '127.0.0.1').on('error', () => {});
      refused.resume();
      await once(refused, 'close');
      const [first] = held;
      const heard = new Promise<number>((resolve) => {
        if (first?.destroyed !== false) return resolve(0); // it was silent for too long, and its close is over
        first.once('data', (answer: Buffer) => resolve(answer.length)).once('close', () => resolve(0));
      });
      first?.write(streamEncode(QUERY));
      return { bytes: await heard };
    }),
  );

  t.true(answerBytes.bytes > 12);
});

test('hostile packets by UDP and TCP change nothing for others', async (t) => {
  const { port } = await resolver(t);
  const socket = await udp(t);
  const good = encode(QUERY);
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          fc.uint8Array({ maxLength: 1_200 }),
          fc
            .tuple(fc.nat(good.length - 1), fc.nat(255))
            .map(([at, value]) => Uint8Array.from(good).fill(value, at, at + 1)),
        ),
        { maxLength: 20 },
      ),
      async (packets) => {
        const connection = await connected(t, port);
        for (const packet of packets) {
          socket.send(packet, port, '127.0.0.1');
          if (!connection.destroyed)
            connection.write(Buffer.concat([Buffer.from([packet.length >> 8, packet.length & 255]), packet]));
        }
        connection.destroy();
      },
    ),
    { numRuns: 40 },
  );

  const other = await udp(t);
  t.is((await asked(other, port)).answers?.length, 1);
});

test('strangers are not answered; members, this machine and nobody beyond the limits are', (t) => {
  const clock = createFakeClock();
  const admission = createAdmission({
    ranges: () => ['100.64.1.0/24', 'fd00:64:1::/64'],
    nowMs: () => clock.nowMs(),
    ownAddresses: () => ['192.168.1.7', 'fe80::7'],
  });
  const admitted = [
    '100.64.1.9',
    '::ffff:100.64.1.9',
    'fd00:64:1::9',
    '127.0.0.1',
    '::1',
    '192.168.1.7',
    'fe80::7%eth0',
  ];

  t.deepEqual(
    admitted.filter((address) => !admission.admits(address)),
    [],
  );
  t.deepEqual(
    ['100.64.2.1', '192.168.1.8', 'fd00:64:2::1', '8.8.8.8', 'fe80::8%eth0', '', 'x', '::ffff:1.2.3.4'].filter(
      (address) => admission.admits(address),
    ),
    [],
  );

  clock.pass(1_000);
  const count = (address: string, times: number) =>
    Array.from({ length: times }).filter(() => admission.admits(address)).length;
  t.is(count('100.64.1.9', QUERIES_PER_SECOND_MAX + 10), QUERIES_PER_SECOND_MAX);
  t.is(
    ['10', '11', '12', '13'].reduce((sum, host) => sum + count(`100.64.1.${host}`, QUERIES_PER_SECOND_MAX), 0),
    ALL_QUERIES_PER_SECOND_MAX - QUERIES_PER_SECOND_MAX,
  );
  clock.pass(1_000);
  t.true(admission.admits('100.64.1.9'));
});

test('a port that another program has is taken when that one goes', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.teardown(() => {
    other.close();
  });
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  let changes = 0;
  const listener = new Listener({
    address: '127.0.0.1',
    port,
    answer: () => null,
    changed: () => {
      changes += 1;
    },
  });
  t.teardown(() => listener.close());
  t.deepEqual(await until('a state', () => listener.state), { isListening: false, code: 'EADDRINUSE' });

  other.close();
  await until('listening', () => listener.state?.isListening);
  t.is(changes, 2);
});

test('an address that the machine does not have is tried again and again, and given up on close', async (t) => {
  const listener = new Listener({ address: '192.0.2.1', port: 0, answer: () => null, changed: () => {} });
  t.deepEqual(await until('a state', () => listener.state), { isListening: false, code: 'EADDRNOTAVAIL' });
  listener.retry();
  await listener.close();
  await listener.close();
  t.pass();
});

test('each node has a loopback address of its own, none that others use', (t) => {
  const addresses = Array.from({ length: 1_000 }, (_, index) => loopbackAddress(`node-${index}`));

  t.true(new Set(addresses).size > 990);
  t.true(
    addresses.every((address) =>
      /^127\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4])\.\d+\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4])$/u.test(address),
    ),
  );
});
