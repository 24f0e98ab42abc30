/** The relay map in force, told once for each that is another: to a machine, or to the gateway of an admin. */
import type { RelayMap } from './map.ts';
import type { KnownMap, MapSource } from './map-source.ts';

/** A map that is followed. */
export interface FollowedMap {
  /** Looks for it at these URLs, in order; none: there are no relays. Returns at once. */
  refresh(urls: readonly string[]): void;
}

/**
 * Begins with the one that is on the disk. `mapped` is told of each that is another than the last; null: there are no
 * relays.
 */
export function followMap(source: MapSource, mapped: (map: RelayMap | null) => void): FollowedMap {
  let map: RelayMap | null = null;
  const settle = (known: KnownMap | null): void => {
    const next = known?.map ?? null;
    if (next === map) return;
    map = next;
    mapped(map);
  };
  void source.remembered().then(settle);
  return {
    refresh: (urls) => void source.refresh(urls).then(settle),
  };
}
