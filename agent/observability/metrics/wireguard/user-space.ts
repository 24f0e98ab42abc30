/** WireGuard in user space, as wireguard-go does it: asked over the socket that each interface has. */
import { keyOfHex } from '../../../../transport/vpn/wireguard/keys.ts';
import { ask } from '../../../../transport/vpn/wireguard/uapi.ts';
import type { DeviceReading, WireguardLimits, WireguardPeer } from './device.ts';

/** A peer that is being read. */
type Draft = { -readonly [Name in keyof WireguardPeer]: WireguardPeer[Name] };

/** Lines with a number that is told. */
const NUMBERS: Readonly<Record<string, 'sentBytes' | 'receivedBytes' | 'handshakeSeconds'>> = {
  tx_bytes: 'sentBytes',
  rx_bytes: 'receivedBytes',
  last_handshake_time_sec: 'handshakeSeconds',
};

/**
 * Reads the interface whose socket this is. Never rejects. Nothing of an answer but counters and public keys is kept.
 */
export async function readUserSpace(socketPath: string, limits: WireguardLimits): Promise<DeviceReading> {
  const peers: Draft[] = [];
  const outcome = await ask(socketPath, 'get=1\n\n', (name, value) => takeLine(peers, name, value, limits), {
    ...limits,
    answerMsMax: limits.readMsMax,
  });
  if (outcome.kind === 'answered') return { kind: 'read', peers };
  return outcome.kind === 'refused' ? { kind: 'failed', reason: outcome.reason } : outcome;
}

/** All other lines are not for us: keys, addresses, settings. */
function takeLine(peers: Draft[], name: string, value: string, { peersMax }: WireguardLimits): string | null {
  if (name === 'public_key') {
    const publicKey = keyOfHex(value);
    if (publicKey === null) return 'its answer has a key that is none';
    if (peers.length === peersMax) return `it has more than ${peersMax} peers`;
    peers.push({ publicKey, sentBytes: 0, receivedBytes: 0, handshakeSeconds: 0 });
    return null;
  }
  const number = NUMBERS[name];
  if (number === undefined) return null;
  const peer = peers.at(-1);
  if (peer === undefined || !/^\d{1,20}$/u.test(value)) return 'its answer has a number that is none';
  peer[number] = Number(value);
  return null;
}
