/**
 * Sessions of agents that get to this admin and not to the owner of their cluster: passed on to it, with the address at
 * which they came in.
 */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { SESSION_PATH } from '../protocol/version.ts';
import type { PassedSession, ReceivedSession, SessionRelay } from '../sessions/gate.ts';
import {
  CarriedUpgrades,
  type CarriedReadings,
  type CarriedUpgrade,
  type CarriedUpgradesPorts,
} from './carried-upgrades.ts';
import { CARRIED_SESSIONS_MAX, RELAYS_OPENING_MAX } from './limits.ts';
import type { Peers } from './peers.ts';
import { LINK_VERSION_SESSIONS } from './protocol/version.ts';

/** Longest address that is believed, in characters: an IPv6 one with its zone is shorter. */
const ADDRESS_CHARS_MAX = 128;
/** Longest token, in characters. Source: transport/sessions/gate.ts. */
const TOKEN_CHARS_MAX = 512;

const Said = z.object({ token: z.string().max(TOKEN_CHARS_MAX), address: z.string().max(ADDRESS_CHARS_MAX) });

/** What it needs. */
export interface AdminSessionRelayPorts extends CarriedUpgradesPorts {
  readonly peers: Pick<Peers, 'callable' | 'has' | 'nameOf' | 'opensRelayed'>;
}

/** Nothing is passed on at first. */
export class AdminSessionRelay implements SessionRelay {
  readonly #peers: AdminSessionRelayPorts['peers'];
  readonly #carried: CarriedUpgrades;

  constructor(ports: AdminSessionRelayPorts) {
    this.#peers = ports.peers;
    this.#carried = new CarriedUpgrades(ports, {
      name: 'session',
      path: SESSION_PATH,
      openingMax: RELAYS_OPENING_MAX,
      carriedMax: CARRIED_SESSIONS_MAX,
    });
  }

  /** Those whose bytes go both ways. */
  get open(): number {
    return this.#carried.open.carried;
  }

  received(request: IncomingMessage): ReceivedSession | null {
    const received = this.#carried.received(request);
    if (received === null || 'refused' in received) return received;
    const said = readSaid(received.said);
    if (said === null) return { refused: '400 Bad Request' };
    return { ...said, open: received.open, by: this.#peers.nameOf(received.admin) ?? received.admin };
  }

  passOn(admin: string, { token, address }: PassedSession, upgrade: Omit<CarriedUpgrade, 'wrong'>): boolean {
    const peer = this.#peers.callable(admin);
    if (peer === null || peer.version < LINK_VERSION_SESSIONS || this.#carried.isFull) return false;
    this.#carried.carry(peer, Buffer.from(JSON.stringify({ token, address })), { ...upgrade, wrong: () => {} });
    return true;
  }

  /** For metrics. */
  readings(): CarriedReadings {
    return { ...this.#carried.open, outcomes: this.#carried.outcomes };
  }

  /** Ends those that are carried to processes that live no more: their agents come again, and find the new owner. */
  sweep(): void {
    this.#carried.endThose(({ id, instance }) => !this.#peers.has(id, instance));
  }

  /** Takes no more, and ends what is open, on both sides. */
  close(): void {
    this.#carried.close();
  }
}

function readSaid(bytes: Buffer): PassedSession | null {
  try {
    return Said.safeParse(JSON.parse(bytes.toString('utf8'))).data ?? null;
  } catch {
    return null; // no JSON
  }
}
