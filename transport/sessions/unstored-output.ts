/**
 * How much output was read from agents and is not stored yet. Above the bound, those that send it are paused (C10, L1).
 */
import type { AdminFrameBody, AgentFrame } from '../protocol/frames.ts';
import type { ExecutionId } from '../protocol/ids.ts';
import type { Connection } from './connection.ts';
import { COUNTED_FRAME_BYTES_MIN, UNSTORED_BYTES_MAX } from './limits.ts';

/** Counts it. */
export interface Unstored {
  /** A frame with output came. */
  came(connection: Connection, execution: ExecutionId, bytes: number): void;
  /** Its output is stored, or nobody wants it. */
  stored(connection: Connection, execution: ExecutionId): void;
  /** A frame of an agent was heard: the output in it came. */
  heard(connection: Connection, frame: AgentFrame, frameBytes: number): void;
  /** A frame was sent: the output of what it confirms is stored. */
  sent(connection: Connection, frame: AdminFrameBody): void;
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

  function came(connection: Connection, execution: ExecutionId, bytes: number): void {
    if (bytes < COUNTED_FRAME_BYTES_MIN) return;
    total += bytes;
    connection.addUnstored(execution, bytes);
    if (total <= bytesMax || paused.has(connection)) return;
    paused.add(connection);
    connection.pause('unstored');
  }

  function stored(connection: Connection, execution: ExecutionId): void {
    const bytes = connection.takeUnstored(execution);
    if (bytes > 0) lower(bytes);
  }

  return {
    came,
    stored,
    heard(connection, frame, frameBytes) {
      if (frame.type === 'result')
        for (const { execution, output } of frame.results) came(connection, execution, output.length);
      if (frame.type === 'output-part') came(connection, frame.execution, frameBytes);
    },
    sent(connection, frame) {
      if (frame.type === 'part-stored') stored(connection, frame.execution);
      else if (frame.type === 'confirm' || frame.type === 'settle')
        for (const execution of frame.executions) stored(connection, execution);
    },
    ended(connection) {
      paused.delete(connection);
      lower(connection.takeAllUnstored());
    },
    bytes: () => total,
  };
}
