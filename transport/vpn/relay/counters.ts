/** What a relay counts, since its start. */

/**
 * Why a connection did not become a client: it spoke something else or too slowly (`handshake`), there was no room
 * (`crowded`), its key is nobody's (`unknown`), or nobody could say (`unavailable`).
 */
export const REFUSALS = ['handshake', 'crowded', 'unknown', 'unavailable'] as const;
/** One of them. */
export type RelayRefusal = (typeof REFUSALS)[number];

/**
 * Why a packet was dropped: its destination is not connected here (`absent`), shares no cluster with its source
 * (`foreign`), or reads too slowly (`slow`).
 */
export const DROPS = ['absent', 'foreign', 'slow'] as const;
/** One of them. */
export type RelayDrop = (typeof DROPS)[number];

/** The counts. Packets and their bytes as they were handed on, drops of slow readers included. */
export interface RelayCounters {
  opened: number;
  readonly refused: Record<RelayRefusal, number>;
  packets: number;
  bytes: number;
  readonly dropped: Record<RelayDrop, number>;
}

/** All at zero. */
export function createRelayCounters(): RelayCounters {
  return {
    opened: 0,
    refused: { handshake: 0, crowded: 0, unknown: 0, unavailable: 0 },
    packets: 0,
    bytes: 0,
    dropped: { absent: 0, foreign: 0, slow: 0 },
  };
}
