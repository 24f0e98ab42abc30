/** Clients whose words are damaged, from their version on to what they ask once they are in: the server goes on. */
/* eslint-disable no-underscore-dangle -- these are the names of ssh2's insides */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { userInfo } from 'node:os';
import test from 'ava';
import ssh2 from 'ssh2';
import { SSH_PACKET_BYTES_MIN } from '../../../../transport/protocol/limits.ts';
import { CountedEgress } from '../../../../agent/access/egress/dialler.ts';
import { startSshFixture } from '../../../support/agent/ssh-fixture.ts';
import { damageWrite } from '../../../support/net/damaged-bytes.ts';
import { damagePackets, overstateText } from '../../../support/ssh/damaged-ssh.ts';
import { connectRaw, execRaw, type RawClient } from '../../../support/ssh/raw-ssh-client.ts';
import { seededNumbers } from '../../../support/seeded.ts';
import { until } from '../../../support/until.ts';

/** Connections that are damaged before anybody is logged in, and after it, and how many at a time. */
const NOT_LOGGED_IN = 600;
const LOGGED_IN = 200;
const AT_ONCE = 20;

/** What a client writes and sends until it is logged in: its version, the key exchange, the service, the login. */
const WRITES = 6;
const PACKETS = 7;

const LOGIN = { username: 'alice', password: 'right and long enough' };

/** Nobody is kept out for being wrong. */
const LIMITS = {
  failuresMax: Infinity,
  unauthenticatedMax: AT_ONCE * 2,
  connectionsPerUserMax: AT_ONCE * 2,
  hangUpMs: 100,
};

/** Takes what it is asked for as the agent does, and dials nobody. */
const NOWHERE = new CountedEgress({
  rules: { blockedPorts: [], blockedHosts: ['0.0.0.0/0', '::/0'], allowedHosts: [], servedPorts: [] },
});

/** Where an address begins in the payload of what asks for a stream, and for a port. Source: RFC 4254, 7. */
const STREAM_ADDRESS_AT = 29;
const PORT_ADDRESS_AT = 19;

/** What a client says once it is in, without waiting for an answer. */
interface Speech {
  session(channel: number, window: number, packetBytes: number): void;
  env(channel: number, key: string, value: string, wantsReply: boolean): void;
  pty(...words: readonly unknown[]): void;
  exec(channel: number, command: string, wantsReply: boolean): void;
  shell(channel: number, wantsReply: boolean): void;
  windowChange(channel: number, rows: number, columns: number, height: number, width: number): void;
  signal(channel: number, name: string): void;
  channelData(channel: number, data: Buffer): void;
  channelWindowAdjust(channel: number, bytes: number): void;
  channelEOF(channel: number): void;
  channelClose(channel: number): void;
  directTcpip(channel: number, window: number, packetBytes: number, where: object): void;
  tcpipForward(address: string, port: number, wantsReply: boolean): void;
  cancelTcpipForward(address: string, port: number, wantsReply: boolean): void;
  ping(): void;
  rekey(): void;
  channelOpenConfirm(remote: number, local: number, window: number, packetBytes: number): void;
}

const [WINDOW, PACKET_BYTES] = [2_097_152, 32_768];
const SOURCE = { srcIP: '127.0.0.1', srcPort: 1, dstIP: '127.0.0.1', dstPort: 2 };

/** Every kind of request that the server knows, and data. */
const SAYINGS: readonly ((speech: Speech) => void)[] = [
  (speech) => speech.session(0, WINDOW, PACKET_BYTES),
  (speech) => speech.env(0, 'LANG', 'C', true),
  (speech) => speech.exec(0, 'words', true),
  (speech) => speech.channelData(0, Buffer.from('input')),
  (speech) => speech.signal(0, 'USR1'),
  (speech) => speech.channelWindowAdjust(0, 1_000),
  (speech) => speech.session(1, WINDOW, PACKET_BYTES),
  (speech) => speech.pty(1, 24, 80, 0, 0, 'xterm', Buffer.of(0), true),
  (speech) => speech.windowChange(1, 30, 90, 0, 0),
  (speech) => speech.shell(1, true),
  (speech) => speech.directTcpip(2, WINDOW, PACKET_BYTES, SOURCE),
  (speech) => speech.tcpipForward('localhost', 0, true),
  (speech) => speech.cancelTcpipForward('localhost', 0, true),
  (speech) => speech.ping(),
  (speech) => speech.channelEOF(0),
  (speech) => speech.channelClose(0),
  (speech) => speech.rekey(),
];

/** Connects, and is over when its connection is. `began`: before a byte was said. `ready`: logged in. */
async function connectOnce(
  port: number,
  began: (client: InstanceType<typeof ssh2.Client>, socket: Socket) => void,
  ready: (client: InstanceType<typeof ssh2.Client>) => void,
): Promise<void> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  const closed = once(socket, 'close');
  const client = new ssh2.Client();
  client.on('error', () => socket.destroySoon()).on('ready', () => ready(client));
  client.connect({ sock: socket, ...LOGIN, readyTimeout: 0 });
  began(client, socket);
  await closed;
}

test(`${NOT_LOGGED_IN + LOGGED_IN} clients that damage the key exchange, the login or what they ask end by themselves`, async (t) => {
  const fixture = await startSshFixture(t, {
    limits: LIMITS,
    // what a damaged command would do is nobody's wish
    accounts: async () => ({ ...userInfo(), name: LOGIN.username, home: '/', shell: '/bin/true', isOther: false }),
    egress: NOWHERE,
  });
  fixture.user(LOGIN.username, [], LOGIN.password);
  const numbers = seededNumbers(20_261_129);
  const counts = { damaged: 0, in: 0 };
  const damaged = (): void => void (counts.damaged += 1);
  const notLoggedIn = (index: number): Promise<void> =>
    connectOnce(
      fixture.port,
      (client, socket) => {
        if (index % 2 === 0) damageWrite(socket, 1 + (numbers() % WRITES), numbers, damaged);
        else damagePackets(client, 1 + (numbers() % PACKETS), numbers, damaged);
      },
      (client) => client.end(),
    );
  const loggedIn = (): Promise<void> =>
    connectOnce(
      fixture.port,
      () => {},
      (client) => {
        counts.in += 1;
        damagePackets(client, 1 + (numbers() % SAYINGS.length), numbers, damaged);
        for (const say of SAYINGS) say((client as unknown as { readonly _protocol: Speech })._protocol);
        client.end();
      },
    );

  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let index = next++; index < NOT_LOGGED_IN + LOGGED_IN; index = next++)
        await (index < NOT_LOGGED_IN ? notLoggedIn(index) : loggedIn());
    }),
  );

  t.log(counts);
  t.true(counts.damaged > 1_000);
  t.is(counts.in, LOGGED_IN);
  await until('nobody is in any more', () => fixture.server.grants().length === 0);
  const client = await connectRaw(t, fixture.port, LOGIN);
  const channel = await execRaw(client, 'words');
  const [status] = (await once(channel.resume(), 'exit')) as [number];
  t.is(status, 0);
});

test('an address that is said to be longer than its packet is refused, for a stream and for a port', async (t) => {
  const fixture = await startSshFixture(t, { egress: NOWHERE });
  fixture.user(LOGIN.username, [], LOGIN.password);
  const client = await connectRaw(t, fixture.port, LOGIN);
  // Behind the wrong length the address is read as what follows it: the port 80, and any port.
  overstateText(client, STREAM_ADDRESS_AT);
  const stream = await new Promise(
    (resolve) => void client.forwardOut('127.0.0.1', 1, '\0\0\0P\0\0\0\0\0\0\0\x01', 1, resolve),
  );
  overstateText(client, PORT_ADDRESS_AT);
  const port = await new Promise((resolve) => void client.forwardIn('\0\0\0\0', 1, resolve));

  t.true(stream instanceof Error);
  t.true(port instanceof Error);
  const channel = await execRaw(client, 'true');
  const [status] = (await once(channel.resume(), 'exit')) as [number];
  t.is(status, 0, 'the connection goes on');
});

test('a client that takes no packet that anything fits into is told so and hung up on, whoever opens the channel', async (t) => {
  const fixture = await startSshFixture(t);
  fixture.user(LOGIN.username, [], LOGIN.password);
  const speechOf = (client: RawClient) => (client as unknown as { readonly _protocol: Speech })._protocol;
  const hungUp = async (act: (client: RawClient, speech: Speech) => void): Promise<void> => {
    const client = await connectRaw(t, fixture.port, LOGIN);
    const closed = once(client, 'close');
    act(client, speechOf(client));
    await closed;
  };

  for (const bytes of [0, 1, SSH_PACKET_BYTES_MIN - 1])
    await hungUp((_client, speech) => {
      speech.session(0, WINDOW, bytes);
      speech.exec(0, 'echo words', true);
    });
  await hungUp((client, speech) => {
    const confirm = speech.channelOpenConfirm.bind(speech);
    speech.channelOpenConfirm = (remote, local, window) => confirm(remote, local, window, 0);
    client.on('tcp connection', (_details, accept) => void accept());
    client.forwardIn('127.0.0.1', 0, (_error, port) => {
      connect(port, '127.0.0.1', function said(this: Socket) {
        this.write('words');
      }).on('error', () => {});
    });
  });

  const client = await connectRaw(t, fixture.port, LOGIN);
  speechOf(client).session(0, WINDOW, SSH_PACKET_BYTES_MIN);
  const channel = await execRaw(client, 'echo words');
  t.is((await once(channel, 'data')).join(''), 'words\n');
});
