/** A relay of the public DERP protocol: hands packets from one key to another, of which it sees only ciphertext. */
import type { Duplex } from 'node:stream';
import type { Log } from '../../net/log.ts';
import { newBoxKeys, type BoxKeys } from '../derp/box.ts';
import { encodeFrame, FRAME } from '../derp/frames.ts';
import { intersects, shareCluster, type RelayAdmission } from './admission.ts';
import { createAllowances } from './allowances.ts';
import { createRelayCounters, type RelayCounters } from './counters.ts';
import { idOf, welcome, type Guest, type GuestOwner } from './guest.ts';
import {
  BYTES_BURST_MAX,
  BYTES_PER_SECOND_MAX,
  CHANGED_MS,
  COME_BACK_MS_MAX,
  CONNECTIONS_MAX,
  CONNECTIONS_OF_KEY_MAX,
  HANDSHAKE_MS_MAX,
  RECHECK_MS,
  RECHECKS_MAX,
  STRANGERS_MAX,
  STRANGERS_OF_ADDRESS_MAX,
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
export interface Relay {
  /** Its public key, hex. */
  readonly publicKey: string;
  readonly counters: RelayCounters;
  /** Clients that are connected. */
  count(): number;
  /** Takes a connection over, with what was read of it. */
  accept(stream: Duplex, head: Buffer, address: string): void;
  /**
   * Whoever has this key is not what it was: its connections end now, and it is asked for again when it comes back
   * (E5).
   */
  forget(publicKey: string): void;
  /** Who is in this cluster is asked for again, within a second; null: whoever is connected. */
  changed(cluster: string | null): void;
  /** All connections end; clients are told when to come back. */
  close(): void;
}

/** What clients with one key are told. Source: derpserver. */
const DUPLICATE = 'another connection has the same key: packets go to the one that sent last';

interface Slot {
  guests: Guest[];
  /** Where packets for the key go: whoever sent last. */
  active: Guest;
}

/** Makes a relay. */
export function createRelay({
  admission,
  log,
  keys = newBoxKeys(),
  connectionsMax = CONNECTIONS_MAX,
  bytesPerSecondMax = BYTES_PER_SECOND_MAX,
  handshakeMsMax = HANDSHAKE_MS_MAX,
}: RelayOptions): Relay {
  const counters = createRelayCounters();
  const allowances = createAllowances({ tokensMax: BYTES_BURST_MAX, tokensPerSecond: bytesPerSecondMax });
  const slots = new Map<string, Slot>();
  const connections = new Set<{ end(reason: string): void }>();
  const strangers = new Map<string, number>();
  let strangerCount = 0;
  let guestCount = 0;
  let changedClusters = new Set<string | null>();
  const sweep = setInterval(lookOver, SWEEP_MS).unref();

  return {
    publicKey: keys.publicKey.toString('hex'),
    counters,
    count: () => guestCount,
    accept,
    forget(publicKey) {
      admission.forget(publicKey);
      const id = idOf(Buffer.from(publicKey, 'base64'));
      for (const guest of slots.get(id)?.guests ?? []) guest.end('forgotten');
    },
    changed(cluster) {
      if (changedClusters.size === 0) setTimeout(recheckChanged, CHANGED_MS).unref();
      changedClusters.add(cluster);
    },
    close() {
      clearInterval(sweep);
      for (const slot of slots.values()) for (const { outbox } of slot.guests) outbox.notice(restarting());
      setImmediate(() => {
        // after what the outboxes write in this turn
        for (const connection of connections) connection.end('the relay closes');
      });
    },
  };

  function accept(stream: Duplex, head: Buffer, address: string): void {
    const ofAddress = strangers.get(address) ?? 0;
    if (connections.size >= connectionsMax || strangerCount >= STRANGERS_MAX || ofAddress >= STRANGERS_OF_ADDRESS_MAX) {
      counters.refused.crowded += 1;
      stream.on('error', () => {});
      stream.destroy();
      return;
    }
    strangers.set(address, ofAddress + 1);
    strangerCount += 1;
    let isStranger = true;
    const known = (): void => {
      if (!isStranger) return;
      isStranger = false;
      strangerCount -= 1;
      const left = (strangers.get(address) ?? 1) - 1;
      if (left > 0) strangers.set(address, left);
      else strangers.delete(address);
    };
    const owner: GuestOwner = {
      keys,
      bytesPerSecondMax,
      handshakeMsMax,
      admit: (publicKey, from) => admission.admit(publicKey, from),
      allowanceOf: (id) => allowances.of(id),
      entered(guest) {
        known();
        entered(guest);
      },
      packet,
      dropped: () => {
        counters.dropped.slow += 1;
      },
      left(guest, refusal) {
        known();
        connections.delete(connection);
        if (refusal !== null) counters.refused[refusal] += 1;
        if (guest !== null) left(guest);
      },
    };
    const connection = { end: (reason: string): void => welcomed.end(reason) };
    connections.add(connection);
    const welcomed = welcome(stream, head, address, owner);
  }

  function entered(guest: Guest): void {
    counters.opened += 1;
    guestCount += 1;
    const slot = slots.get(guest.id);
    if (slot === undefined) return void slots.set(guest.id, { guests: [guest], active: guest });
    slot.guests.push(guest);
    slot.active = guest; // most often it is the same client, back before its last connection was found dead
    while (slot.guests.length > CONNECTIONS_OF_KEY_MAX) slot.guests[0]?.end('too many of one key');
    for (const one of slot.guests) one.warn(DUPLICATE);
    log.debug({ connections: slot.guests.length }, 'a key has several connections to the relay');
  }

  function left(guest: Guest): void {
    guestCount -= 1;
    const slot = slots.get(guest.id);
    if (slot === undefined) return;
    slot.guests = slot.guests.filter((one) => one !== guest);
    const last = slot.guests.at(-1);
    if (last === undefined) return void slots.delete(guest.id);
    if (slot.active === guest) slot.active = last;
    if (slot.guests.length === 1) last.warn('');
  }

  function packet(from: Guest, to: string, bytes: Buffer): void {
    const own = slots.get(from.id);
    if (own !== undefined) own.active = from;
    const slot = slots.get(to);
    if (slot === undefined) {
      counters.dropped.absent += 1;
    } else if (!shareCluster(from.admitted, slot.active.admitted)) {
      counters.dropped.foreign += 1;
    } else {
      counters.packets += 1;
      counters.bytes += bytes.length;
      slot.active.outbox.push(encodeFrame(FRAME.receivedPacket, from.key, bytes));
    }
  }

  function lookOver(): void {
    const nowMs = performance.now();
    let asked = 0;
    allowances.sweep(nowMs);
    for (const slot of slots.values()) {
      for (const guest of slot.guests) {
        const fault = guest.fault(nowMs);
        if (fault !== null) {
          log.debug({ reason: fault }, 'a client of the relay is cut');
          guest.end(fault);
        } else if (nowMs - guest.admittedAtMs > RECHECK_MS && asked < RECHECKS_MAX) {
          asked += 1;
          void recheck(guest);
        }
      }
    }
  }

  /** Changes come in swarms, when members tell where they are: so those of a moment are one look. */
  function recheckChanged(): void {
    const clusters = changedClusters;
    changedClusters = new Set();
    for (const slot of slots.values()) {
      for (const guest of slot.guests) {
        if (!clusters.has(null) && (guest.admitted.clusters === null || !intersects(clusters, guest.admitted.clusters)))
          continue;
        admission.forget(guest.publicKey);
        void recheck(guest);
      }
    }
  }

  /** Whoever cannot be asked about stays: a database that is away must not take the VPN with it. */
  async function recheck(guest: Guest): Promise<void> {
    guest.admittedAtMs = performance.now();
    try {
      const admitted = await admission.admit(guest.publicKey, guest.address);
      if (admitted === null) guest.end('not admitted any more');
      else guest.admitted = admitted;
    } catch (error) {
      log.debug({ error }, 'it is not known whether a client of the relay is still admitted');
    }
  }

  function restarting(): Buffer {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(Math.floor(Math.random() * COME_BACK_MS_MAX), 0);
    payload.writeUInt32BE(TRY_FOR_MS, 4);
    return encodeFrame(FRAME.restarting, payload);
  }
}
