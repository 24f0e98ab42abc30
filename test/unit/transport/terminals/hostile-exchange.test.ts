/** Machines that have the admin compute, or keep what it says, by the keys and the messages that they choose. */
import { Duplex } from 'node:stream';
import test from 'ava';
import type { Connection } from 'ssh2';
import { KEY_EXCHANGES_PER_MINUTE_MAX } from '../../../../transport/net/ssh/limits.ts';
import { createSshTerminals } from '../../../../transport/terminals/ssh-client.ts';
import {
  hostKeysPayload,
  MESSAGE,
  payloadOf,
  sendPayload,
  slowKey,
  sshString,
} from '../../../support/ssh/raw-payloads.ts';
import { until } from '../../../support/until.ts';
import { asked, machine, terminalAt } from './fixture.ts';

const NO_ONE = { data: () => {}, exit: () => {}, closed: () => {} };

/** The processor time of this process that what is asked takes, in ms. */
async function costOf<T>(act: () => Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const before = process.cpuUsage();
  const value = await act();
  const { user, system } = process.cpuUsage(before);
  return { value, ms: (user + system) / 1_000 };
}

/** A packet before there are keys. Source: RFC 4253, 6. */
function plainPacket(payload: Buffer): Buffer {
  const padding = 16 - ((5 + payload.length) % 8);
  return Buffer.concat([
    Buffer.from(Uint32Array.of(1 + payload.length + padding).buffer).swap32(),
    Buffer.of(padding),
    payload,
    Buffer.alloc(padding),
  ]);
}

/** A machine that offers a group exchange alone, and chooses 2^3217 - 1, a prime: to check it takes seconds. */
function groupMachine(): { readonly stream: Duplex; readonly heard: () => Buffer } {
  const lists = ['diffie-hellman-group-exchange-sha256', 'ssh-ed25519', 'aes128-ctr', 'aes128-ctr', 'hmac-sha2-256'];
  const offer = [...lists, 'hmac-sha2-256', 'none', 'none', '', ''].map((list) => sshString(list));
  const prime = Buffer.from(((1n << 3_217n) - 1n).toString(16).padStart(806, '0'), 'hex');
  const group = payloadOf(GROUP, sshString(prime), sshString(Buffer.of(2)));
  const heard: Buffer[] = [];
  const stream: Duplex = new Duplex({
    read() {},
    write(bytes: Buffer, _encoding, taken) {
      taken();
      if (heard.push(bytes) > 1) return;
      stream.push('SSH-2.0-machine\r\n');
      stream.push(plainPacket(payloadOf(MESSAGE.keyExchange, Buffer.alloc(16), ...offer, Buffer.alloc(5))));
      stream.push(plainPacket(group));
    },
  });
  return { stream, heard: () => Buffer.concat(heard) };
}

/** SSH_MSG_KEX_DH_GEX_GROUP, and why a connection ends that agrees on no keys. Source: RFC 4419, 5; RFC 4253, 11.1. */
const GROUP = 31;
const KEY_EXCHANGE_FAILED = 3;

test.serial('a machine that chooses the group of a key exchange is refused, and its prime not looked at', async (t) => {
  const { stream, heard } = groupMachine();
  const terminals = createSshTerminals({ reach: async () => ({ ok: true, stream }) });

  const { value: opened, ms } = await costOf(() => terminals.open(asked(), NO_ONE, new AbortController().signal));

  t.false(opened.ok);
  t.true(heard().includes(payloadOf(MESSAGE.disconnect, Buffer.of(0, 0, 0, KEY_EXCHANGE_FAILED))));
  t.true(ms < 1_000, `${ms} ms`);
});

test('a machine that wants to compress, before the login or behind it, is refused', async (t) => {
  for (const compress of ['zlib', 'zlib@openssh.com'] as const) {
    const terminals = await machine(t, { algorithms: { compress: [compress] } });

    const opened = await terminals.open(asked(), NO_ONE, new AbortController().signal);

    t.false(opened.ok, compress);
  }
});

test.serial('other keys of a machine are not read, however many it tells', async (t) => {
  let heard = '';
  const { terminal } = await terminalAt(
    t,
    {
      shell(shell, client) {
        shell.once('data', () => {
          for (let told = 0; told < 10; told += 1) sendPayload(client, hostKeysPayload(slowKey(8_600)));
          shell.write('told');
        });
      },
    },
    { data: (bytes) => (heard += Buffer.from(bytes).toString()) },
  );

  const { ms } = await costOf(async () => {
    terminal.write(Buffer.from('go'), () => {});
    await until('what is told', () => heard === 'told');
  });

  t.true(ms < 1_000, `${ms} ms`);
});

/** More than anything but the beginning of a key exchange has here, in bytes. */
const KEYS_BYTES_MIN = 300;

test('what is typed while a machine leaves an exchange of keys unfinished is taken behind it, in its order', async (t) => {
  let [heard, taken] = ['', 0];
  let resume = (): void => {};
  const { terminal, stream } = await terminalAt(t, {
    shell(shell, client, socket) {
      shell.once('data', () => {
        shell.on('data', (data: Buffer) => (heard += data.toString()));
        client.rekey();
        socket.pause();
        resume = () => void socket.resume();
      });
    },
  });

  terminal.write(Buffer.from('go'), () => {});
  const before = stream.bytesWritten;
  await until('the answer to new keys', () => stream.bytesWritten > before + KEYS_BYTES_MIN);
  const pieces = Array.from({ length: 100 }, (_, piece) => `${piece} `);
  for (const piece of pieces) terminal.write(Buffer.from(piece), () => (taken += 1));
  await new Promise(setImmediate);
  t.is(taken, 0);
  resume();

  await until('all of it', () => heard === pieces.join(''));
  t.is(taken, pieces.length);
});

for (const [what, say] of Object.entries<(client: Connection) => void>({
  'asks for new keys without end': (client) => {
    let exchanges = 0;
    const again = (): void => {
      exchanges += 1;
      if (exchanges <= KEY_EXCHANGES_PER_MINUTE_MAX * 100) client.rekey();
    };
    client.on('handshake', again);
    again();
  },
  'asks for a service': (client) => sendPayload(client, payloadOf(5, sshString('ssh-userauth'))),
}))
  test(`a machine that ${what} is hung up on`, async (t) => {
    const { terminal, closed, stream } = await terminalAt(t, {
      shell: (shell, client) => void shell.once('data', () => say(client)),
    });

    terminal.write(Buffer.from('go'), () => {});
    await closed;

    t.true(stream.destroyed);
  });

test.serial('logins that a machine tries at the admin are not heard, nor kept', async (t) => {
  const requests = 3_000;
  let heard = '';
  const before = process.memoryUsage().heapUsed;
  const { terminal } = await terminalAt(
    t,
    {
      shell(shell, client, socket) {
        const request = payloadOf(50, ...['root', 'ssh-connection', 'x'.repeat(30_000)].map((word) => sshString(word)));
        const more = (left: number): void => {
          if (left === 0) return void shell.write('told');
          sendPayload(client, request);
          if (socket.writableNeedDrain) socket.once('drain', () => more(left - 1));
          else setImmediate(more, left - 1);
        };
        shell.once('data', () => more(requests));
      },
    },
    { data: (bytes) => (heard += Buffer.from(bytes).toString()) },
  );

  terminal.write(Buffer.from('go'), () => {});
  await until('all of them', () => heard === 'told');

  const bytes = process.memoryUsage().heapUsed - before;
  t.true(bytes < 45_000_000, `${bytes} bytes`);
});
