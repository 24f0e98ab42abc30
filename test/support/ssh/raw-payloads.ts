/** Messages that ssh2 would not say, by the encryption of a connection of it. */
/* eslint-disable no-underscore-dangle -- these are the names of ssh2's insides */
import type { EventEmitter } from 'node:events';

interface Protocol {
  readonly _packetRW: {
    readonly write: {
      readonly allocStartKEX: number;
      alloc(bytes: number, isForced: boolean): Buffer;
      finalize(packet: Buffer, isForced: boolean): Buffer;
    };
  };
  readonly _cipher: { encrypt(packet: Buffer): void };
}

/** Numbers of messages. Source: RFC 4250, 4.1.2. */
export const MESSAGE = {
  disconnect: 1,
  ignore: 2,
  keyExchange: 20,
  loginRequest: 50,
  infoResponse: 61,
  globalRequest: 80,
} as const;

/**
 * The beginning of a key in PEM with so many headers: ssh2 takes quadratic time to find that it is none. A packet has
 * room for 8,600.
 */
export function slowKey(headers: number): string {
  return `-----BEGIN RSA PRIVATE KEY-----\n${'a:b\n'.repeat(headers)}`;
}

/** A message of a number and what follows it. */
export function payloadOf(type: number, ...parts: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([type]), ...parts]);
}

/** A string as SSH has it. */
export function sshString(text: string | Buffer): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

/** A number as SSH has it. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A server tells another key of its own, which is this text. */
export function hostKeysPayload(key: string): Buffer {
  return payloadOf(MESSAGE.globalRequest, sshString('hostkeys-00@openssh.com'), Buffer.of(0), sshString(key));
}

/** Sends a payload over a connection of ssh2 that has keys, also while they are exchanged anew. */
export function sendPayload(side: EventEmitter, payload: Buffer): void {
  const { _packetRW: packets, _cipher: cipher } = protocolOf(side);
  const packet = packets.write.alloc(payload.length, true);
  payload.copy(packet, packets.write.allocStartKEX);
  cipher.encrypt(packets.write.finalize(packet, true));
}

function protocolOf(side: EventEmitter): Protocol {
  return (side as EventEmitter & { readonly _protocol: Protocol })._protocol;
}
