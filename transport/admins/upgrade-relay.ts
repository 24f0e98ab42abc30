/**
 * Tunnels that came in here and are another admin's, as where a balancer stands before all: their upgrade is passed on
 * to that admin, and the bytes after it both ways.
 */
import type { IncomingMessage } from 'node:http';
import { TUNNEL_PATH } from '../protocol/version.ts';
import type { ReceivedTunnel, TunnelRelay, TunnelUpgrade } from '../tunnels/gate.ts';
import { tagIn, tagOf } from '../tunnels/token.ts';
import { CarriedUpgrades, type CarriedUpgradesPorts } from './carried-upgrades.ts';
import { CARRIED_STREAMS_MAX, RELAYS_OPENING_MAX } from './limits.ts';
import type { Peers } from './peers.ts';

/** What the proof of an upgrade is bound to besides its header. */
export const TUNNEL_ROUTE = `GET ${TUNNEL_PATH}`;

/** What the relay needs. */
export interface UpgradeRelayPorts extends CarriedUpgradesPorts {
  readonly peers: Pick<Peers, 'all' | 'nameOf' | 'opensRelayed'>;
  /** Default: RELAYS_OPENING_MAX. */
  readonly openingMax?: number;
  /** Default: CARRIED_STREAMS_MAX. */
  readonly carriedMax?: number;
}

/** Nothing is passed on at first. */
export class UpgradeRelay implements TunnelRelay {
  readonly #peers: UpgradeRelayPorts['peers'];
  readonly #carried: CarriedUpgrades;

  constructor({ openingMax = RELAYS_OPENING_MAX, carriedMax = CARRIED_STREAMS_MAX, ...ports }: UpgradeRelayPorts) {
    this.#peers = ports.peers;
    this.#carried = new CarriedUpgrades(ports, { name: 'tunnel', path: TUNNEL_PATH, openingMax, carriedMax });
  }

  /** Upgrades that are passed on and not answered yet, and those whose bytes go both ways. */
  get open(): { readonly opening: number; readonly carried: number } {
    return this.#carried.open;
  }

  /** What became of upgrades that were to be passed on, since the start. */
  get outcomes(): CarriedUpgrades['outcomes'] {
    return this.#carried.outcomes;
  }

  received(request: IncomingMessage): ReceivedTunnel | null {
    const received = this.#carried.received(request);
    if (received === null || 'refused' in received) return received;
    return { token: received.said.toString('latin1'), open: received.open };
  }

  passOn(token: string, upgrade: TunnelUpgrade): boolean {
    const tag = tagIn(token);
    const peer = tag === null ? undefined : this.#peers.all().find(({ id }) => tagOf(id) === tag);
    if (peer === undefined) return false;
    this.#carried.carry(peer, Buffer.from(token, 'latin1'), upgrade);
    return true;
  }

  /** Takes no more, and ends what is open, on both sides. */
  close(): void {
    this.#carried.close();
  }
}
