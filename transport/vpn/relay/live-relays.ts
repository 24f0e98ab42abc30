/** Relays of all admins as one map, and whether it is another than before. */
import { createHash } from 'node:crypto';
import type { Log } from '../../net/log.ts';
import { relayMapOf, type OwnRegion } from './map.ts';

/** How often it is looked for admins that came or went, in ms. */
const LOOK_EVERY_MS = 5_000;

/** What it needs. */
export interface LiveRelaysPorts {
  /** Relays of admins that live. */
  readonly read: () => Promise<readonly OwnRegion[]>;
  readonly clock: { after(ms: number, run: () => void): () => void };
  readonly log: Log;
}

/** The map, empty at first. */
export class LiveRelays {
  readonly #ports: LiveRelaysPorts;
  #regions: readonly OwnRegion[] = [];
  /** Of the regions: the same for the same map at every admin. */
  #version = '';
  /** The version that is told of; null: there was no look yet. */
  #told: string | null = null;
  /** By the last look: the database was away. */
  #isAway = false;
  #isStopped = false;
  #cancel = (): void => {};

  constructor(ports: LiveRelaysPorts) {
    this.#ports = ports;
  }

  /** Looks once, then goes on by itself. Never rejects: what is not known now is so a moment later. */
  async start(): Promise<void> {
    await this.#look();
    this.#schedule();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** As it is published; null: no admin has a relay. */
  map(): unknown {
    return this.#regions.length === 0 ? null : relayMapOf(this.#regions);
  }

  /** Whether the map names this region. */
  names(region: number): boolean {
    return this.#regions.some(({ id }) => id === region);
  }

  /**
   * Another one for each map; empty: there is none. It follows the map by one look, in which every other admin has
   * looked too: who is told of a version gets its map from any of them.
   */
  version(): string {
    return this.#told ?? '';
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#cancel = this.#ports.clock.after(LOOK_EVERY_MS, () => void this.#look().then(() => this.#schedule()));
  }

  async #look(): Promise<void> {
    const { read, log } = this.#ports;
    try {
      const found = await read();
      // After an outage admins check in one after the other: one that has not yet is there all the same.
      const regions = this.#isAway ? merged(found, this.#regions) : found;
      const version = versionOf(regions);
      if (version !== this.#version)
        log.info({ regions: regions.map(({ id }) => id) }, 'the map of relays inside admins is another one now');
      this.#told = this.#told === null ? version : this.#version;
      this.#regions = regions;
      this.#version = version;
      this.#isAway = false;
    } catch (error) {
      this.#isAway = true;
      log.debug({ error: (error as Error).message }, 'relays of other admins could not be looked for');
    }
  }
}

/** Of one region as it is known later. */
function merged(later: readonly OwnRegion[], earlier: readonly OwnRegion[]): readonly OwnRegion[] {
  const byId = new Map([...earlier, ...later].map((region) => [region.id, region]));
  return [...byId.values()].toSorted((one, other) => one.id - other.id);
}

function versionOf(regions: readonly OwnRegion[]): string {
  if (regions.length === 0) return '';
  return createHash('sha256').update(JSON.stringify(regions)).digest('hex').slice(0, 16);
}
