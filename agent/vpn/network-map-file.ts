/** The VPN on the disk of this machine: with it a machine is in its VPN before any admin answers. */
import { readFileSync, rmSync } from 'node:fs';
import { z } from 'zod';
import { VPN_PEERS_MAX, VpnMembership, VpnRevision, ToldVpnPeer } from '../../transport/protocol/vpn.ts';
import type { Log } from '../../transport/net/log.ts';
import { writeDurably } from '../durable-file.ts';
import type { SessionClock } from '../session/ports.ts';
import { fullNetworkMap, type NetworkMap } from './network-map.ts';

/**
 * Changes of the VPN within this time are stored together, in ms: each is a wait for the disk. After a crash, an admin
 * tells what is missing.
 */
const STORE_GATHER_MS = 1_000;

const Stored = z.object({
  revision: VpnRevision,
  network: VpnMembership,
  peers: z.array(ToldVpnPeer).max(VPN_PEERS_MAX),
});

/** Keeps the latest network map in a file. What cannot be stored is a warning. */
export class NetworkMapFile {
  readonly #path: string;
  readonly #clock: SessionClock;
  readonly #log: Log;
  #unstored: NetworkMap | null = null;
  #cancelStore = (): void => {};

  constructor(path: string, clock: SessionClock, log: Log) {
    this.#path = path;
    this.#clock = clock;
    this.#log = log;
  }

  /** What an earlier run stored. Null: nothing usable. */
  read(): NetworkMap | null {
    try {
      const stored = Stored.parse(JSON.parse(readFileSync(this.#path, 'utf8')));
      return fullNetworkMap({ seq: 1, type: 'mesh-network', ...stored });
    } catch {
      return null; // none yet, or damaged: an admin tells it again
    }
  }

  /** Stores it before long, unless another one comes first. */
  storeSoon(networkMap: NetworkMap): void {
    if (this.#unstored === null) this.#cancelStore = this.#clock.after(STORE_GATHER_MS, () => this.storeNow());
    this.#unstored = networkMap;
  }

  /** Stores what is not stored yet. */
  storeNow(): void {
    this.#cancelStore();
    if (this.#unstored === null) return;
    const { revision, network, peers } = this.#unstored;
    try {
      writeDurably(this.#path, `${JSON.stringify({ revision, network, peers: [...peers.values()] })}\n`);
    } catch (error) {
      this.#log.warn(
        { problem: (error as Error).message },
        'The VPN could not be stored: after a restart it is known once an admin answers',
      );
    }
    this.#unstored = null;
  }

  /** Removes what was stored, as far as that can be done: there is no such VPN any more. */
  forget(): void {
    this.#cancelStore();
    this.#unstored = null;
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // the next start is in the old VPN until an admin answers
    }
  }
}
