/** What goes over relays: packets between a relay and the interface, and messages between members. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RelayReach } from '../relay-map/map.ts';
import type { PathMessage } from './path-state.ts';
import { Relays } from './relays.ts';
import { RelaySockets } from './relay-sockets.ts';
import { decodePeerMessage, encodePeerMessage, isPeerMessage, type PeerMessage } from './peer-messages.ts';

/** Between two looks at whether the own relay is reached, in ms. */
const PLACED_LOOK_MS = 20;

/** What it needs of the member. */
export interface TrafficPorts {
  /** UDP, of the interface. */
  readonly wireguardPort: number;
  readonly reach: RelayReach | undefined;
  readonly isPeer: (publicKey: string) => boolean;
  /** Of the relay at which the peer listens; null: none. */
  readonly regionOf: (publicKey: string) => number | null;
  readonly said: (publicKey: string, message: PathMessage) => void;
  /** Packets of a peer came late by the relay: WireGuard answers there now. */
  readonly straggled: (publicKey: string) => void;
  /** A relay was reached or lost. */
  readonly changed: () => void;
}

/** The relays of one member, and the sockets between them and its interface. */
export class RelayedTraffic {
  readonly relays: Relays;
  readonly relaySockets: RelaySockets;
  readonly #ports: TrafficPorts;

  constructor(ports: TrafficPorts) {
    this.#ports = ports;
    this.relaySockets = new RelaySockets({
      wireguardPort: ports.wireguardPort,
      send: (publicKey, packet) => this.#send(publicKey, packet),
      straggled: ports.straggled,
    });
    this.relays = new Relays({
      received: (publicKey, packet) => this.#received(publicKey, packet),
      changed: ports.changed,
      ...(ports.reach === undefined ? {} : { reach: ports.reach }),
    });
  }

  /** Once the own relay is reached, or this time has come, on the clock of `performance.now`. */
  async placed(untilMs: number, ending: AbortSignal): Promise<void> {
    while (!ending.aborted && this.relays.home() === null && performance.now() < untilMs) await delay(PLACED_LOOK_MS);
  }

  /** A message to a peer, which may be lost. */
  say(publicKey: string, message: PeerMessage): void {
    this.#send(publicKey, encodePeerMessage(message));
  }

  /** Relay sockets of those that are peers no more, or that were not relayed for a while, are closed. */
  sweepSockets(isRelayed: (publicKey: string) => boolean): void {
    this.relaySockets.sweep(this.#ports.isPeer, isRelayed);
  }

  #send(publicKey: string, packet: Uint8Array): void {
    const region = this.#ports.regionOf(publicKey);
    if (region !== null) this.relays.send(region, publicKey, packet);
  }

  #received(publicKey: string, packet: Uint8Array): void {
    if (!this.#ports.isPeer(publicKey)) return;
    if (!isPeerMessage(packet)) return this.relaySockets.deliver(publicKey, packet);
    const message = decodePeerMessage(packet);
    if (message !== null) this.#ports.said(publicKey, messageOf(message));
  }
}

function messageOf(message: PeerMessage): PathMessage {
  switch (message.type) {
    case 'ask':
      return { type: 'asked' };
    case 'agreed':
      return { type: 'answered', inMs: message.inMs };
    case 'heard':
      return { type: 'heard' };
    default:
      throw new Error(`no such message: ${(message satisfies never as PeerMessage).type}`);
  }
}
