/** The socket of an interface: what a real one would say, and programs in its place that lie, flood or say nothing. */
import { existsSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import test from 'ava';
import { makeKeyPair } from '../../../../../transport/vpn/wireguard/keys.ts';
import { DEVICE_LIMITS } from '../../../../../transport/vpn/wireguard/limits.ts';
import { DeviceGone, DeviceProblem } from '../../../../../transport/vpn/wireguard/problem.ts';
import { ask } from '../../../../../transport/vpn/wireguard/uapi.ts';
import { isRunning, sweepSocket } from '../../../../../transport/vpn/wireguard/user-space.ts';
import { LINUX } from '../../../../../transport/vpn/wireguard/programs.ts';
import { controlsAt, deviceAt, serve } from './uapi-fixture.ts';

const KEY = 'c'.repeat(64);
const BASE64 = Buffer.from(KEY, 'hex').toString('base64');

function pour(socket: Socket, text: string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(text));
  };
  socket.on('drain', more);
  more();
}

test('a state is read in pieces of any size, and lines of later versions are passed over', async (t) => {
  const answer = [
    `private_key=${KEY}`,
    'listen_port=51820',
    'fwmark=7',
    'colour=blue',
    `public_key=${KEY}`,
    `preshared_key=${'0'.repeat(64)}`,
    'endpoint=[2001:db8::1]:7',
    'last_handshake_time_sec=1700000000',
    'last_handshake_time_nsec=5999999',
    'tx_bytes=18446744073709551615',
    'rx_bytes=3',
    'persistent_keepalive_interval=25',
    'allowed_ip=100.64.0.7/32',
    'allowed_ip=fd00::7/128',
    'protocol_version=1',
    `public_key=${'d'.repeat(64)}`,
    'last_handshake_time_sec=0',
    'last_handshake_time_nsec=0',
    'errno=0',
    '',
    '',
  ].join('\n');
  const { sockets } = await serve(t, (socket) => {
    for (const piece of answer.match(/[\s\S]{1,7}/gu) ?? []) socket.write(piece);
  });

  t.deepEqual(await controlsAt(sockets).read(), {
    privateKey: BASE64,
    listenPort: 51_820,
    peers: [
      {
        reading: {
          publicKey: BASE64,
          endpoint: '[2001:db8::1]:7',
          allowedIps: ['100.64.0.7/32', 'fd00::7/128'],
          handshakeAtMs: 1_700_000_000_005,
          receivedBytes: 3,
          sentBytes: 2 ** 64,
        },
        keepaliveSeconds: 25,
      },
      {
        reading: {
          publicKey: Buffer.from('d'.repeat(64), 'hex').toString('base64'),
          endpoint: null,
          allowedIps: [],
          handshakeAtMs: null,
          receivedBytes: 0,
          sentBytes: 0,
        },
        keepaliveSeconds: 0,
      },
    ],
  });
});

test('what a call changes is one question, and removals are one before it, an endpoint that is not given left out', async (t) => {
  const { sockets, heard } = await serve(t, (socket) => {
    socket.write('errno=0\n\n');
  });
  const device = deviceAt(sockets);

  await device.apply({
    set: [{ publicKey: BASE64, allowedIps: ['100.64.0.7/32'], endpoint: null, keepaliveSeconds: 25 }],
    removed: [BASE64],
  });
  await device.setEndpoints([
    { publicKey: BASE64, endpoint: '192.0.2.1:7', isSentNow: true },
    { publicKey: makeKeyPair().publicKey, endpoint: '192.0.2.1:7', isSentNow: true },
  ]);
  await device.apply({ set: [], removed: [] });
  await device.setEndpoints([]);
  await device.release();

  t.deepEqual(heard, [
    `set=1\npublic_key=${KEY}\nremove=true\n\n`,
    `set=1\npublic_key=${KEY}\nreplace_allowed_ips=true\nallowed_ip=100.64.0.7/32\npersistent_keepalive_interval=25\n\n`,
    `set=1\npublic_key=${KEY}\nupdate_only=true\nendpoint=192.0.2.1:7\npersistent_keepalive_interval=0\npersistent_keepalive_interval=25\n\n`,
  ]);
});

/** What is written in the place of wireguard-go, and what an operator reads of it. */
const HOSTILE: Readonly<Record<string, readonly [write: (socket: Socket) => void, reason: string]>> = {
  silence: [() => {}, 'it did not answer within 400 ms'],
  'an end that comes early': [
    (socket) => {
      socket.end(`private_key=${KEY}\n`);
    },
    'its answer ended too early',
  ],
  'no end': [
    (socket) => {
      pour(socket, `preshared_key=${KEY}\n`.repeat(500));
    },
    'its answer is too long',
  ],
  'a line without end': [
    (socket) => {
      pour(socket, KEY.repeat(100));
    },
    'its answer has a line that is too long',
  ],
  'too many peers': [
    (socket) => {
      pour(
        socket,
        Array.from({ length: 500 }, (_, index) => `public_key=${index.toString(16).padStart(64, '0')}\n`).join(''),
      );
    },
    'it has more than 100 peers',
  ],
  'a key that is none': [
    (socket) => {
      socket.write(`public_key=${'g'.repeat(64)}\nerrno=0\n\n`);
    },
    'its answer has a key that is none',
  ],
  'a number that is none': [
    (socket) => {
      socket.write(`public_key=${KEY}\ntx_bytes=1e9\nerrno=0\n\n`);
    },
    'its answer is no such answer',
  ],
  'a number of nobody': [
    (socket) => {
      socket.write('tx_bytes=1\nerrno=0\n\n');
    },
    'its answer is no such answer',
  ],
  'an address of nobody': [
    (socket) => {
      socket.write('allowed_ip=192.0.2.1/32\nerrno=0\n\n');
    },
    'its answer is no such answer',
  ],
  'a refusal': [
    (socket) => {
      socket.write('errno=-98\n\n');
    },
    'its UDP port is in use',
  ],
  'a refusal that nobody knows': [
    (socket) => {
      socket.write(`errno=${KEY}\n\n`);
    },
    'it refused',
  ],
  bytes: [
    (socket) => {
      socket.write(Buffer.from(Array.from({ length: 3_000 }, (_, index) => index % 256)));
    },
    'its answer is no such answer',
  ],
  HTTP: [
    (socket) => {
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    },
    'its answer is no such answer',
  ],
};

test('an answer of a program that is not UAPI is refused in time, in one sentence that holds nothing of it', async (t) => {
  await Promise.all(
    Object.entries(HOSTILE).map(async ([what, [write, reason]]) => {
      const { sockets } = await serve(t, write);
      const limits = { answerMsMax: what === 'silence' ? 400 : 30_000, answerBytesMax: 200_000, peersMax: 100 };

      const error = await t.throwsAsync(
        controlsAt(sockets, limits).read(),
        {
          instanceOf: DeviceProblem,
          message: `wireguard-go ${what.startsWith('a refusal') ? 'refused' : 'failed'} for the interface wg0: ${reason}`,
        },
        what,
      );
      t.false(error instanceof DeviceGone, what);
    }),
  );
});

test('an interface whose calls fail is not lost while its program runs, and lost as soon as that ends', async (t) => {
  const { sockets, close } = await serve(t, (socket) => {
    socket.write('errno=-22\n\n');
  });
  const device = deviceAt(sockets);
  const lost: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  device.onLost((problem) => {
    lost.push(problem);
    resolve(problem);
  });
  await t.throwsAsync(device.read(), {
    message: 'wireguard-go refused for the interface wg0: it was told something that it does not take',
  });
  t.deepEqual(lost, []);

  close();

  t.is(await promise, 'the interface wg0 is gone: its program wireguard-go ended');
  await t.throwsAsync(device.read(), { message: 'the interface wg0 is gone: its program wireguard-go ended' });
  device.onLost((problem) => lost.push(problem));
  t.is(lost.length, 2, 'who asks later hears it too');
});

test('a socket that nobody listens on is gone, and is swept away; one that somebody has stays', async (t) => {
  const { sockets } = await serve(t, () => {});
  const reach = { machine: { ...LINUX, sockets }, limits: { ...DEVICE_LIMITS, endMsMax: 100 } };
  writeFileSync(join(sockets, 'wg1.sock'), '');

  t.deepEqual(await ask(join(sockets, 'wg2.sock'), 'get=1\n\n', () => null, DEVICE_LIMITS), { kind: 'gone' });
  t.deepEqual(
    [await isRunning('wg0', reach), await isRunning('wg1', reach), await isRunning('wg2', reach)],
    [true, false, false],
  );
  t.deepEqual(
    [await sweepSocket('wg0', reach), await sweepSocket('wg1', reach), await sweepSocket('wg2', reach)],
    [false, true, true],
  );
  t.deepEqual([existsSync(join(sockets, 'wg0.sock')), existsSync(join(sockets, 'wg1.sock'))], [true, false]);
});
