/**
 * WireGuard in the kernel: found in /sys, asked by `wg`, by the two of its questions whose answers hold no secret and
 * no address.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ProgramFailure, run } from '../../../../transport/vpn/wireguard/programs.ts';
import { failedReading } from './device.ts';
import type { DeviceReading, WireguardLimits } from './device.ts';

/** Names of the kernel's WireGuard interfaces, of those in this directory (/sys/class/net). */
export function kernelInterfaces(directory: string, lookedAtMax: number): string[] {
  return (namesIn(directory) ?? []).slice(0, lookedAtMax).filter((name) => {
    try {
      return readFileSync(join(directory, name, 'uevent'), 'latin1')
        .split('\n')
        .includes('DEVTYPE=wireguard');
    } catch {
      return false; // it went meanwhile
    }
  });
}

/** Reads one of them. Never rejects. */
export async function readKernel(name: string, wg: string, limits: WireguardLimits): Promise<DeviceReading> {
  try {
    const [transfer, handshakes] = await Promise.all(
      ['transfer', 'latest-handshakes'].map((question) =>
        run(wg, ['show', name, question], { programMsMax: limits.readMsMax, programBytesMax: limits.answerBytesMax }),
      ),
    );
    const times = new Map(rows(handshakes).map(([key = '', seconds]) => [key, Number(seconds)]));
    const peers = rows(transfer).map(([publicKey = '', received, sent]) => ({
      publicKey,
      sentBytes: Number(sent),
      receivedBytes: Number(received),
      handshakeSeconds: times.get(publicKey) ?? 0,
    }));
    if (peers.length > limits.peersMax) return failedReading(`it has more than ${limits.peersMax} peers`);
    const isSound = peers.every(
      (peer) =>
        /^[\w+/]{43}=$/u.test(peer.publicKey) &&
        [peer.sentBytes, peer.receivedBytes, peer.handshakeSeconds].every(
          (value) => value >= 0 && Number.isFinite(value),
        ),
    );
    return isSound ? { kind: 'read', peers } : failedReading('the answer of wg is no such answer');
  } catch (error) {
    return failedReading(
      error instanceof ProgramFailure && error.isAbsent ? 'the program wg is not on this machine' : 'wg did not answer',
    );
  }
}

/** Names in a directory, in order; none where there is no directory, and null where it cannot be read. */
export function namesIn(directory: string): string[] | null {
  try {
    return readdirSync(directory).toSorted();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? [] : null;
  }
}

function rows(text: string | undefined): string[][] {
  return (text ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'));
}
