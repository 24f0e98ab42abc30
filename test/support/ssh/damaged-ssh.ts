/** A side of an SSH connection that damages what it says beneath the encryption, where ssh2 would say it right. */
/* eslint-disable no-underscore-dangle -- these are the names of ssh2's insides */
import type { Socket } from 'node:net';
import type ssh2 from 'ssh2';
import type { Connection } from 'ssh2';
import { damagedBytes } from '../net/damaged-bytes.ts';

/** What ssh2 gives no types for: each packet is encrypted by the cipher of its time. */
interface Insides {
  readonly _sock: Socket;
  readonly _protocol: { _cipher: Cipher };
}

interface Cipher {
  allocPacket(payloadBytes: number): Buffer;
  encrypt(packet: Buffer): void;
}

/** A packet has this in front of its payload: its length, and how long its padding is. Source: RFC 4253, 6. */
const HEAD_BYTES = 5;

/**
 * Damages the packet of this number, from 1, of those that come on this side, and half of those behind it; the
 * connection ends behind what is said in the same turn. `damaged` hears of each.
 */
export function damagePackets(
  side: InstanceType<typeof ssh2.Client> | Connection,
  first: number,
  numbers: () => number,
  damaged: () => void,
): void {
  const { _sock: socket, _protocol: protocol } = side as unknown as Insides;
  let packets = 0;
  const damaging = (cipher: Cipher): Cipher => {
    const encrypt = cipher.encrypt.bind(cipher);
    cipher.encrypt = (packet) => {
      packets += 1;
      if (packets < first || (packets > first && numbers() % 2 === 0)) return encrypt(packet);
      if (packets === first) setImmediate(() => socket.end());
      damaged();
      const payload = damagedBytes(packet.subarray(HEAD_BYTES, packet.length - (packet[4] ?? 0)), numbers);
      const other = cipher.allocPacket(payload.length);
      other.set(payload, HEAD_BYTES);
      return encrypt(other);
    };
    return cipher;
  };
  let cipher = damaging(protocol._cipher);
  Object.defineProperty(protocol, '_cipher', {
    get: () => cipher,
    set(next: Cipher) {
      cipher = damaging(next);
    },
  });
}

/** Of the next packet of this side, the text at this byte of its payload is said to be longer than the rest. */
export function overstateText(side: InstanceType<typeof ssh2.Client>, at: number): void {
  const cipher = (side as unknown as Insides)._protocol._cipher;
  const encrypt = cipher.encrypt.bind(cipher);
  cipher.encrypt = (packet) => {
    cipher.encrypt = encrypt;
    packet.writeUInt32BE(packet.length, HEAD_BYTES + at);
    encrypt(packet);
  };
}
