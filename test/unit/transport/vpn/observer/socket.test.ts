/** What a flood costs, and that an observer comes back after it. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { PACKETS_PER_SECOND_MAX, SHUT_MS } from '../../../../../transport/vpn/observer/limits.ts';
import { ObserverSocket } from '../../../../../transport/vpn/observer/socket.ts';
import { EndpointObserver } from '../../../../../transport/vpn/observer/observer.ts';
import { createFakeClock } from '../../../../support/fake-clock.ts';
import { recordingLog, silentLog } from '../../../../support/log.ts';
import { udpSockets } from '../../../../support/vpn/udp-sockets.ts';
import { until } from '../../../../support/until.ts';

/** Whoever sends. */
async function client(t: ExecutionContext): Promise<Socket> {
  const socket = createSocket('udp4');
  t.teardown(() => {
    socket.close();
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}

/** Sends so many packets, and lets those come in that the kernel has kept. */
async function send(socket: Socket, port: number, text: string, times = 1): Promise<void> {
  for (let sent = 0; sent < times; sent++) socket.send(text, port, '127.0.0.1');
  await turn();
  await turn();
}

test('a port that is flooded is closed for a while, and hears again afterwards', async (t) => {
  const clock = createFakeClock();
  let packets = 0;
  let shut = 0;
  let last = '';
  const socket = await ObserverSocket.open({
    host: '127.0.0.1',
    port: 0,
    clock,
    monotonicMs: () => clock.nowMs(),
    onPacket: (packet) => {
      packets += 1;
      last = packet.toString();
    },
    onShut: () => {
      shut += 1;
    },
  });
  t.teardown(() => socket.close());
  const flooder = await client(t);

  while (socket.isOpen()) await send(flooder, socket.port, 'flood', 50);

  t.deepEqual({ packets, shut }, { packets: PACKETS_PER_SECOND_MAX, shut: 1 });
  clock.pass(SHUT_MS);
  await until('an open port', () => socket.isOpen());
  await until('a packet', async () => {
    await send(flooder, socket.port, 'honest');
    return last === 'honest';
  });
});

test('as many packets in the time that they may take close nothing', async (t) => {
  const clock = createFakeClock();
  let packets = 0;
  const socket = await ObserverSocket.open({
    host: '::',
    port: 0,
    clock,
    monotonicMs: () => clock.nowMs(),
    onPacket: () => {
      packets += 1;
    },
    onShut: () => t.fail(),
  });
  t.teardown(() => socket.close());
  const sender = await client(t);

  for (let round = 0; round < 3; round++) {
    for (let sent = 0; sent < PACKETS_PER_SECOND_MAX / 2; sent += 50) await send(sender, socket.port, 'x', 50);
    clock.pass(1_000);
  }

  t.true(socket.isOpen());
  t.true(packets > 0);
});

test('a port that somebody has is done without until it is given back, and said in one line', async (t) => {
  const clock = createFakeClock();
  const taken = createSocket('udp4').unref();
  taken.bind(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address();
  const log = recordingLog();

  const observer = await EndpointObserver.start({
    host: '127.0.0.1',
    port,
    memberOf: async () => null,
    seen: () => {},
    clock,
    monotonicMs: () => 0,
    log,
  });
  t.teardown(() => observer.close());

  t.is(
    observer.places.some((place) => place.port === port),
    false,
  );
  t.is(observer.ports().missing, 2 - observer.places.length);
  t.is(log.lines.length, 1);
  t.regex(JSON.stringify(log.lines[0]), new RegExp(`UDP port ${port} cannot be listened on \\(EADDRINUSE\\)`, 'u'));
  clock.pass(SHUT_MS);
  taken.close();
  await once(taken, 'close');

  await until('the port', () => {
    clock.pass(SHUT_MS);
    return observer.places.some((place) => place.port === port);
  });

  t.is(log.lines.filter(({ level }) => level === 'warn').length, 1);
});

test('two ports have two keys, and another start has others', async (t) => {
  const start = () =>
    EndpointObserver.start({
      host: '127.0.0.1',
      port: 0,
      memberOf: async () => null,
      seen: () => {},
      clock: createFakeClock(),
      monotonicMs: () => 0,
      log: silentLog,
    });
  const observers = await Promise.all([start(), start()]);
  t.teardown(async () => {
    for (const observer of observers) await observer.close();
  });

  const places = observers.flatMap((observer) => observer.places);

  t.is(new Set(places.map(({ publicKey }) => publicKey)).size, 4);
  t.is(new Set(places.map(({ port }) => port)).size, 4);
  t.deepEqual(
    observers.map((observer) => observer.ports()),
    Array.from({ length: 2 }, () => ({ open: 2, closed: 0, missing: 0 })),
  );
});

test('a packet that says it comes from port 0 is dropped, as it can neither be answered nor told of', async (t) => {
  const clock = createFakeClock();
  const heard: string[] = [];
  const socketOf = udpSockets(t);
  const socket = await ObserverSocket.open({
    host: '127.0.0.1',
    port: 0,
    clock,
    monotonicMs: () => clock.nowMs(),
    onShut: () => t.fail(),
    onPacket(packet, from) {
      heard.push(packet.toString());
      socket.send(packet, from);
    },
  });
  t.teardown(() => socket.close());
  const own = socketOf(socket.port);

  t.notThrows(() =>
    own.emit('message', Buffer.from('forged'), { address: '127.0.0.1', family: 'IPv4', port: 0, size: 6 }),
  );
  t.true(own.emit('message', Buffer.from('sent'), { address: '127.0.0.1', family: 'IPv4', port: 9, size: 4 }));

  t.deepEqual(heard, ['sent']);
});
