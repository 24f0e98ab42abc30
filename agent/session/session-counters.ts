/** What a session counts. */

/** Since its start, for metrics. */
export interface SessionCounters {
  /** Connections tried. */
  dials: number;
  /** Connections that became live: all but the first are reconnections. */
  welcomes: number;
  /** Results sent; those that go out again after a lost connection count again. */
  reported: number;
  /** Results that an admin confirmed. */
  confirmed: number;
}

/** All at zero. */
export function createSessionCounters(): SessionCounters {
  return { dials: 0, welcomes: 0, reported: 0, confirmed: 0 };
}
