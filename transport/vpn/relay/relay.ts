/** A relay of the public DERP protocol: hands packets from one key to another, of which it sees only ciphertext. */
import type { Duplex } from 'node:stream';
import type { Log } from '../../net/log.ts';
import { Places } from '../../net/places.ts';
import { sourceNetwork } from '../../net/source-networks.ts';
import { encodeFrame, FRAME, newBoxKeys, type BoxKeys } from '../derp/protocol.ts';
import { intersects, shareCluster, type RelayAdmission } from './admission.ts';
import { createAllowances, type Allowances } from './allowances.ts';
import { ClientConnection, type ConnectionOwner } from './client-connection.ts';
import { createRelayCounters } from './counters.ts';
import { idOf, type RelayClient } from './client.ts';
import { RelayClients } from './clients.ts';
import {
  BYTES_BURST_MAX,
  BYTES_PER_SECOND_MAX,
  CHANGED_MS,
  COME_BACK_MS_MAX,
  CONNECTIONS_MAX,
  HANDSHAKE_MS_MAX,
  RECHECK_MS,
  RECHECKS_MAX,
  UNAUTHENTICATED_MAX,
  UNAUTHENTICATED_OF_ADDRESS_MAX,
  SWEEP_MS,
  TRY_FOR_MS,
} from './limits.ts';

/** What a relay takes. */
export interface RelayOptions {
  readonly admission: RelayAdmission;
  readonly log: Log;
  /** Its own; made unless given, since nobody has to know it before. */
  readonly keys?: BoxKeys;
  readonly connectionsMax?: number;
  /** From one key. */
  readonly bytesPerSecondMax?: number;
  readonly handshakeMsMax?: number;
}

/** A relay without its listener. */
export class Relay {
  readonly counters = createRelayCounters();
  readonly #options: Required<RelayOptions>;
  readonly #allowances: Allowances;
  readonly #clients = new RelayClients();
  /** Connections that did not prove their key yet. */
  readonly #unauthenticated = new Places({ placesMax: UNAUTHENTICATED_MAX, ofOneMax: UNAUTHENTICATED_OF_ADDRESS_MAX });
  readonly #connections = new Set<ClientConnection>();
  readonly #sweep: NodeJS.Timeout;
  #changedClusters = new Set<string | null>();

  constructor({
    keys = newBoxKeys(),
    connectionsMax = CONNECTIONS_MAX,
    bytesPerSecondMax = BYTES_PER_SECOND_MAX,
    handshakeMsMax = HANDSHAKE_MS_MAX,
    ...options
  }: RelayOptions) {
    this.#options = { ...options, keys, connectionsMax, bytesPerSecondMax, handshakeMsMax };
    this.#allowances = createAllowances({ tokensMax: BYTES_BURST_MAX, tokensPerSecond: bytesPerSecondMax });
    this.#sweep = setInterval(() => this.#lookOver(), SWEEP_MS).unref();
  }

  /** Its public key, hex. */
  get publicKey(): string {
    return this.#options.keys.publicKey.toString('hex');
  }

  /** Clients that are connected. */
  count(): number {
    return this.#clients.count;
  }

  /** Takes a connection over, with what was read of it. */
  accept(stream: Duplex, head: Buffer, address: string): void {
    const isFull = this.#connections.size >= this.#options.connectionsMax;
    const known = isFull ? null : this.#unauthenticated.take(sourceNetwork(address));
    if (known === null) {
      this.counters.refused.crowded += 1;
      stream.on('error', () => {});
      stream.destroy();
      return;
    }
    const connection = new ClientConnection(stream, address, this.#ownerOf(known));
    this.#connections.add(connection);
    connection.begin(head);
  }

  /**
   * Whoever has this key is not what it was: its connections end now, and it is asked for again when it comes back
   * (E5).
   */
  forget(publicKey: string): void {
    this.#options.admission.forget(publicKey);
    for (const client of this.#clients.ofKey(idOf(Buffer.from(publicKey, 'base64')))) client.end('forgotten');
  }

  /** Who is in this cluster is asked for again, within a second; null: whoever is connected. */
  changed(cluster: string | null): void {
    if (this.#changedClusters.size === 0) setTimeout(() => this.#recheckChanged(), CHANGED_MS).unref();
    this.#changedClusters.add(cluster);
  }

  /** All connections end; clients are told when to come back. */
  close(): void {
    clearInterval(this.#sweep);
    for (const { outbox } of this.#clients.all()) outbox.notice(restarting());
    setImmediate(() => {
      // after what the outboxes write in this turn
      for (const connection of this.#connections) connection.end('the relay closes');
    });
  }

  /** Of one connection. `known`: it has proven its key. */
  #ownerOf(known: () => void): ConnectionOwner {
    const { keys, bytesPerSecondMax, handshakeMsMax, admission } = this.#options;
    return {
      keys,
      bytesPerSecondMax,
      handshakeMsMax,
      admit: (publicKey, from) => admission.admit(publicKey, from),
      allowanceOf: (id) => this.#allowances.of(id),
      entered: (client) => {
        known();
        this.#entered(client);
      },
      packet: (from, to, bytes) => this.#packet(from, to, bytes),
      dropped: () => {
        this.counters.dropped.slow += 1;
      },
      left: (connection, client, refusal) => {
        known();
        this.#connections.delete(connection);
        if (refusal !== null) this.counters.refused[refusal] += 1;
        if (client !== null) this.#clients.leave(client);
      },
    };
  }

  #entered(client: RelayClient): void {
    this.counters.opened += 1;
    const connections = this.#clients.enter(client);
    if (connections > 1) this.#options.log.debug({ connections }, 'a key has several connections to the relay');
  }

  #packet(from: RelayClient, to: string, bytes: Buffer): void {
    this.#clients.sentLast(from);
    const client = this.#clients.activeOf(to);
    if (client === undefined) {
      this.counters.dropped.absent += 1;
    } else if (!shareCluster(from.admitted, client.admitted)) {
      this.counters.dropped.foreign += 1;
    } else {
      this.counters.packets += 1;
      this.counters.bytes += bytes.length;
      client.outbox.push(encodeFrame(FRAME.receivedPacket, from.key, bytes));
    }
  }

  #lookOver(): void {
    const nowMs = performance.now();
    let asked = 0;
    this.#allowances.sweep(nowMs);
    for (const client of this.#clients.all()) {
      const fault = client.fault(nowMs);
      if (fault !== null) {
        this.#options.log.debug({ reason: fault }, 'a client of the relay is cut');
        client.end(fault);
      } else if (nowMs - client.admittedAtMs > RECHECK_MS && asked < RECHECKS_MAX) {
        asked += 1;
        void this.#recheck(client);
      }
    }
  }

  /** Changes come in swarms, when members tell where they are: so those of a moment are one look. */
  #recheckChanged(): void {
    const clusters = this.#changedClusters;
    this.#changedClusters = new Set();
    for (const client of this.#clients.all()) {
      const { clusters: ofGuest } = client.admitted;
      if (!clusters.has(null) && (ofGuest === null || !intersects(clusters, ofGuest))) continue;
      this.#options.admission.forget(client.publicKey);
      void this.#recheck(client);
    }
  }

  /** Whoever cannot be asked about stays: a database that is away must not take the VPN with it. */
  async #recheck(client: RelayClient): Promise<void> {
    const { admission, log } = this.#options;
    client.admittedAtMs = performance.now();
    try {
      const admitted = await admission.admit(client.publicKey, client.address);
      if (admitted === null) client.end('not admitted any more');
      else client.admitted = admitted;
    } catch (error) {
      log.debug({ error }, 'it is not known whether a client of the relay is still admitted');
    }
  }
}

/** Tells a client when to come back, each at another time. */
function restarting(): Buffer {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(Math.floor(Math.random() * COME_BACK_MS_MAX), 0);
  payload.writeUInt32BE(TRY_FOR_MS, 4);
  return encodeFrame(FRAME.restarting, payload);
}
