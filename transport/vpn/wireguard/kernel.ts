/**
 * WireGuard in the kernel: interfaces made by `ip`, programmed and read by `wg`. Secrets reach `wg` through a pipe
 * alone.
 */
import { isWireguardKey } from '../../protocol/wireguard.ts';
import { deleteLink } from './addresses.ts';
import type { Reach } from './addresses.ts';
import type { DevicePeer } from './device.ts';
import { DeviceGone, DeviceProblem, DeviceRefusal } from './problem.ts';
import type { Controls, EndpointChange, InterfaceState, PeerState } from './programmed-device.ts';
import { ProgramFailure, run, runFed } from './programs.ts';

/** Peers of one command line. One takes at most 200 bytes, and Linux allows 2 MiB with the environment (execve(2)). */
const PEERS_OF_COMMAND_MAX = 1_024;

const MS_PER_SECOND = 1_000;

/** What `wg` says of an interface that is not there; the second where the kernel has no WireGuard (any more). */
const ABSENT = /No such device|Protocol not supported/u;

/**
 * Programs the interface of this name by `wg`, which asks the kernel, or the socket of wireguard-go where that has it.
 */
export class KernelControls implements Controls {
  readonly backend = 'kernel';
  readonly #name: string;
  readonly #reach: Reach;

  constructor(name: string, reach: Reach) {
    this.#name = name;
    this.#reach = reach;
  }

  async setPrivateKey(privateKey: string): Promise<void> {
    await this.#wg(['set', this.#name, 'private-key', '/dev/stdin'], `${privateKey}\n`);
  }

  /** The key and the port. */
  async begin(privateKey: string, listenPort: number): Promise<void> {
    await this.#wg(
      ['set', this.#name, 'listen-port', String(listenPort), 'private-key', '/dev/stdin'],
      `${privateKey}\n`,
    );
  }

  async apply(set: readonly DevicePeer[], removed: readonly string[]): Promise<void> {
    for (const some of piecesOf(removed))
      await this.#wg(['set', this.#name, ...some.flatMap((publicKey) => ['peer', publicKey, 'remove'])]);
    if (set.length > 0) await this.#wg(['addconf', this.#name, '/dev/stdin'], set.map(configurationOf).join('\n'));
  }

  async setEndpoints(changes: readonly EndpointChange[]): Promise<void> {
    for (const some of piecesOf(changes)) await this.#wg(['set', this.#name, ...some.flatMap(wordsOf)]);
  }

  async read(): Promise<InterfaceState> {
    const [own, ...peers] = (await this.#wg(['show', this.#name, 'dump']))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split('\t'));
    if (peers.length > this.#reach.limits.peersMax)
      throw new DeviceProblem(`the interface ${this.#name} has more than ${this.#reach.limits.peersMax} peers`);
    const [privateKey = '', , listenPort = ''] = own ?? [];
    return {
      privateKey: isWireguardKey(privateKey) ? privateKey : null,
      listenPort: Number(listenPort) || null,
      peers: peers.map(peerOf),
    };
  }

  /** The kernel tells nobody who does not ask: the next call sees it. */
  watch(): () => void {
    return () => {};
  }

  async end(): Promise<void> {
    await deleteLink(this.#name, this.#reach);
  }

  async #wg(words: readonly string[], input?: string): Promise<string> {
    const { machine, limits } = this.#reach;
    try {
      return await (input === undefined ? run(machine.wg, words, limits) : runFed(machine.wg, words, limits, input));
    } catch (error) {
      if (!(error instanceof ProgramFailure)) throw error;
      if (ABSENT.test(error.said)) throw new DeviceGone(`the interface ${this.#name} is gone: it was removed`);
      // it ran, and said no
      throw error.status === null || error.isAbsent ? error : new DeviceRefusal(error.message, { cause: error });
    }
  }
}

/**
 * A peer as `wg addconf` takes it, which leaves an endpoint that is not given. Its ranges replace those that it had,
 * also when there are none.
 */
function configurationOf({ publicKey, allowedIps, endpoint, keepaliveSeconds }: DevicePeer): string {
  return [
    '[Peer]',
    `PublicKey = ${publicKey}`,
    ...(allowedIps.length === 0 ? [] : [`AllowedIPs = ${allowedIps.join(', ')}`]),
    ...(endpoint === null ? [] : [`Endpoint = ${endpoint}`]),
    `PersistentKeepalive = ${keepaliveSeconds}`,
    '',
  ].join('\n');
}

/**
 * A keepalive is sent at once when they are switched on: so they are switched off before, and named again as what they
 * were.
 */
function wordsOf({ publicKey, endpoint, isSentNow, keepaliveSeconds }: EndpointChange): string[] {
  const keepalive = (seconds: number): string[] => ['peer', publicKey, 'persistent-keepalive', String(seconds)];
  const endings = keepaliveSeconds > 0 ? [keepaliveSeconds] : [1, 0];
  return [
    'peer',
    publicKey,
    'endpoint',
    endpoint,
    ...(isSentNow ? ['persistent-keepalive', '0', ...endings.flatMap(keepalive)] : []),
  ];
}

function peerOf([
  publicKey = '',
  ,
  endpoint = '',
  ranges = '',
  handshake = '',
  received = '',
  sent = '',
  keepalive = '',
]: readonly string[]): PeerState {
  if (!isWireguardKey(publicKey) || ![handshake, received, sent].every((number) => /^\d{1,20}$/u.test(number)))
    throw new DeviceProblem('the answer of wg is no such answer');
  return {
    reading: {
      publicKey,
      endpoint: endpoint === '(none)' ? null : endpoint,
      allowedIps: ranges === '(none)' ? [] : ranges.split(','),
      handshakeAtMs: handshake === '0' ? null : Number(handshake) * MS_PER_SECOND,
      receivedBytes: Number(received),
      sentBytes: Number(sent),
    },
    keepaliveSeconds: Number(keepalive) || 0,
  };
}

function piecesOf<T>(all: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(all.length / PEERS_OF_COMMAND_MAX) }, (_, index) =>
    all.slice(index * PEERS_OF_COMMAND_MAX, (index + 1) * PEERS_OF_COMMAND_MAX),
  );
}
