/**
 * How much output was read from agents and is not stored yet. Above the bound, those that send it are paused (C10, L1).
 */
import type { ExecutionId } from '../protocol/ids.ts';
import type { Connection } from './connection.ts';
import { COUNTED_FRAME_BYTES_MIN, UNSTORED_BYTES_MAX } from './limits.ts';

/** Counts it. */
export interface Unstored {
  /** A frame with output came. */
  came(connection: Connection, execution: ExecutionId, bytes: number): void;
  /** Its output is stored, or nobody wants it. */
  stored(connection: Connection, execution: ExecutionId): void;
  /** The session ended; what it sent is stored or dropped without it. */
  ended(connection: Connection): void;
  bytes(): number;
}

/** Nothing waits at first. */
export function createUnstored(bytesMax: number = UNSTORED_BYTES_MAX): Unstored {
  const paused = new Set<Connection>();
  let total = 0;

  function lower(bytes: number): void {
    total -= bytes;
    if (total > bytesMax / 2 || paused.size === 0) return;
    for (const connection of paused) connection.resume('unstored');
    paused.clear();
  }

  return {
    came(connection, execution, bytes) {
      if (bytes < COUNTED_FRAME_BYTES_MIN) return;
      total += bytes;
      connection.addUnstored(execution, bytes);
      if (total <= bytesMax || paused.has(connection)) return;
      paused.add(connection);
      connection.pause('unstored');
    },
    stored(connection, execution) {
      const bytes = connection.takeUnstored(execution);
      if (bytes > 0) lower(bytes);
    },
    ended(connection) {
      paused.delete(connection);
      lower(connection.takeAllUnstored());
    },
    bytes: () => total,
  };
}
