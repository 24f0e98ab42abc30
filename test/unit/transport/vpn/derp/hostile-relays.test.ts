/** Relays that say what none does: each ends its own connection, and its clients come back. */
import type { TLSSocket } from 'node:tls';
import test from 'ava';
import { damageWrite } from '../../../../support/net/damaged-bytes.ts';
import { sayingRelay, startClient, UPGRADED } from '../../../../support/vpn/relay.ts';
import { seededNumbers } from '../../../../support/seeded.ts';
import { until } from '../../../../support/until.ts';
import {
  encodeFrame,
  FRAME,
  KEY_BYTES,
  MAGIC,
  newBoxKeys,
  PING_BYTES,
  sealJson,
} from '../../../../../transport/vpn/derp/protocol.ts';

/** Connections that are damaged, and clients that make them. */
const DAMAGED = 1_000;
const CLIENTS = 20;

/** How often an honest relay writes here. */
const WRITES = 4;

const KEYS = newBoxKeys();

/** All that a relay says by itself, and a packet. */
function said(packet: string): Buffer {
  return Buffer.concat([
    encodeFrame(FRAME.keepAlive),
    encodeFrame(FRAME.ping, Buffer.alloc(PING_BYTES, 1)),
    encodeFrame(FRAME.pong, Buffer.alloc(PING_BYTES, 2)),
    encodeFrame(FRAME.health, Buffer.from('another one has this key')),
    encodeFrame(FRAME.peerGone, Buffer.alloc(KEY_BYTES, 3), Buffer.of(0)),
    encodeFrame(FRAME.restarting, Buffer.alloc(8)),
    encodeFrame(FRAME.receivedPacket, Buffer.alloc(KEY_BYTES, 4), Buffer.from(packet)),
  ]);
}

/** Speaks as an honest one. */
function speak(socket: TLSSocket, packet: string): void {
  socket.write(UPGRADED);
  socket.write(encodeFrame(FRAME.serverKey, MAGIC, KEYS.publicKey));
  socket.once('data', (heard: Buffer) => {
    const client = heard.subarray(5, 5 + KEY_BYTES);
    socket.write(encodeFrame(FRAME.serverInfo, sealJson({ version: 2 }, client, KEYS.privateKey)));
    socket.write(said(packet));
  });
}

test(`${DAMAGED} damaged answers of a relay end their connections, and its clients are let in again`, async (t) => {
  const numbers = seededNumbers(20_261_129);
  let damaged = 0;
  const region = await sayingRelay(t, (socket) => {
    const isHonest = damaged >= DAMAGED;
    if (!isHonest) damageWrite(socket, 1 + (numbers() % WRITES), numbers, () => (damaged += 1));
    speak(socket, isHonest ? 'whole' : 'damaged');
  });

  const clients = Array.from({ length: CLIENTS }, () =>
    startClient(t, region, { reconnectMsMin: 1, reconnectMsMax: 2 }),
  );
  await until('the damaged ones', () => damaged >= DAMAGED, 60_000);
  await until('packets of the honest one', () =>
    clients.every(({ packets, connection }) => connection.isOpen && packets.at(-1)?.packet.toString() === 'whole'),
  );

  const opened = clients.reduce((sum, client) => sum + client.opened, 0);
  t.log({ opened });
  t.true(opened > DAMAGED / 10, 'some are damaged once they are open');
});
