/**
 * What members say to each other over the relay beside their packets: a few bytes that no packet of WireGuard begins
 * with. Whoever relays them can forge them, and gains a try in vain.
 */
import { VPN_TRY_IN_MS_MAX } from '../../protocol/vpn.ts';

/** Asks for a try, agrees to begin it in so many ms, or tells the peer that its packets come directly. */
export type PeerMessage =
  | { readonly type: 'ask' }
  | { readonly type: 'heard' }
  | { readonly type: 'agreed'; readonly inMs: number };

/** Packets of WireGuard begin with a number from 1 to 4 and three zeros. Source: WireGuard, 5.4. */
const BEGINNING = Buffer.from('edgemesh', 'latin1');

const NUMBERS = { ask: 1, heard: 2, agreed: 3 } as const;

/** Number of the message, and two bytes for its time. */
const PEER_MESSAGE_BYTES = BEGINNING.length + 3;

/** As it goes over the relay. */
export function encodePeerMessage(message: PeerMessage): Uint8Array {
  const bytes = Buffer.alloc(PEER_MESSAGE_BYTES);
  BEGINNING.copy(bytes);
  bytes.writeUInt8(NUMBERS[message.type], BEGINNING.length);
  bytes.writeUInt16BE(message.type === 'agreed' ? message.inMs : 0, BEGINNING.length + 1);
  return bytes;
}

/** Whether this is no packet of WireGuard. */
export function isPeerMessage(packet: Uint8Array): boolean {
  return packet.length >= BEGINNING.length && BEGINNING.compare(packet, 0, BEGINNING.length) === 0;
}

/** Null: none that is known here. */
export function decodePeerMessage(packet: Uint8Array): PeerMessage | null {
  if (!isPeerMessage(packet) || packet.length < PEER_MESSAGE_BYTES) return null;
  const bytes = Buffer.from(packet.buffer, packet.byteOffset, packet.length);
  const inMs = bytes.readUInt16BE(BEGINNING.length + 1);
  switch (bytes.readUInt8(BEGINNING.length)) {
    case NUMBERS.ask:
      return { type: 'ask' };
    case NUMBERS.heard:
      return { type: 'heard' };
    case NUMBERS.agreed:
      return inMs > VPN_TRY_IN_MS_MAX ? null : { type: 'agreed', inMs };
    default:
      return null;
  }
}
