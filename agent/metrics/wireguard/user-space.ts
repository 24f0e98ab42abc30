/** WireGuard in user space, as wireguard-go does it: asked over the socket that each interface has. Source: wireguard.com/xplatform, "configuration protocol". */
import { connect } from 'node:net';
import { failedReading } from './device.ts';
import type { DeviceReading, WireguardLimits, WireguardPeer } from './device.ts';

/** What a socket says that nobody listens on any more: a program that was killed leaves it behind. */
const GONE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT']);

/** Reads the interface whose socket this is. Never rejects. Nothing of an answer but counters and public keys is kept. */
export function readUserSpace(socketPath: string, limits: WireguardLimits): Promise<DeviceReading> {
  return new Promise((resolve) => {
    const parser = new AnswerParser(limits);
    const socket = connect(socketPath);
    const timer = setTimeout(() => settle(failedReading(`it did not answer within ${limits.readMsMax} ms`)), limits.readMsMax);
    const settle = (reading: DeviceReading): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(reading);
    };
    socket.setEncoding('latin1');
    socket.on('connect', () => socket.write('get=1\n\n'));
    socket.on('data', (text: string) => {
      const reading = parser.take(text);
      if (reading !== null) settle(reading);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => settle(GONE.has(error.code ?? '') ? { kind: 'gone' } : failedReading(error.code ?? 'its socket failed')));
    socket.on('end', () => settle(failedReading('its answer ended too early')));
  });
}

/** Reads an answer as it comes, line by line, and forgets what was read. */
class AnswerParser {
  readonly #limits: WireguardLimits;
  readonly #peers: { publicKey: string; sentBytes: number; receivedBytes: number; handshakeSeconds: number }[] = [];
  #bytes = 0;
  #rest = '';

  constructor(limits: WireguardLimits) {
    this.#limits = limits;
  }

  /** The reading once the answer is whole or wrong, else null. */
  take(text: string): DeviceReading | null {
    this.#bytes += text.length;
    if (this.#bytes > this.#limits.answerBytesMax) return failedReading('its answer is too long');
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const reading = line.length > this.#limits.lineBytesMax ? failedReading('its answer has a line that is too long') : this.#line(line);
      if (reading !== null) return reading;
    }
    return this.#rest.length > this.#limits.lineBytesMax ? failedReading('its answer has a line that is too long') : null;
  }

  #line(line: string): DeviceReading | null {
    const at = line.indexOf('=');
    const value = line.slice(at + 1);
    const peer = this.#peers.at(-1);
    switch (line.slice(0, at)) {
      case 'public_key': {
        if (this.#peers.length === this.#limits.peersMax) return failedReading(`it has more than ${this.#limits.peersMax} peers`);
        if (!/^[\da-f]{64}$/u.test(value)) return failedReading('its answer has a key that is none');
        this.#peers.push({ publicKey: Buffer.from(value, 'hex').toString('base64'), sentBytes: 0, receivedBytes: 0, handshakeSeconds: 0 });
        return null;
      }
      case 'tx_bytes': return set(peer, 'sentBytes', value);
      case 'rx_bytes': return set(peer, 'receivedBytes', value);
      case 'last_handshake_time_sec': return set(peer, 'handshakeSeconds', value);
      case 'errno': return value === '0' ? { kind: 'read', peers: this.#peers } : failedReading('it refused to answer');
      default: return at > 0 ? null : failedReading('its answer is no such answer'); // all other lines are not for us: keys, addresses, settings
    }
  }
}

function set(peer: { -readonly [Name in keyof WireguardPeer]: WireguardPeer[Name] } | undefined, name: 'sentBytes' | 'receivedBytes' | 'handshakeSeconds', value: string): DeviceReading | null {
  if (peer === undefined || !/^\d{1,20}$/u.test(value)) return failedReading('its answer has a number that is none');
  peer[name] = Number(value);
  return null;
}
