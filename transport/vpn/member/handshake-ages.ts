/**
 * How old handshakes are. WireGuard tells when they were by the clock on the wall, which may be set by hours: from then
 * on time is counted by one that is not.
 */

/** Ages of the handshakes of one interface's peers. */
export interface HandshakeAges {
  /**
   * To be told each reading of a peer: when its last handshake was, in Unix ms; null: never. `nowMs` is monotonic,
   * `wallMs` Unix time. The age in ms, null: none.
   */
  read(publicKey: string, handshakeAtMs: number | null, nowMs: number, wallMs: number): number | null;
  /** Age as of the last reading. */
  of(publicKey: string, nowMs: number): number | null;
  forget(isKnown: (publicKey: string) => boolean): void;
}

interface Seen {
  readonly handshakeAtMs: number | null;
  /** By the monotonic clock; null: there was none. */
  readonly beganMs: number | null;
  /** When it was read last. */
  readonly readMs: number;
}

/** Nothing read so far. */
export function createHandshakeAges(): HandshakeAges {
  const seen = new Map<string, Seen>();
  const age = (entry: Seen | undefined, nowMs: number): number | null =>
    entry?.beganMs == null ? null : Math.max(0, nowMs - entry.beganMs);

  return {
    read(publicKey, handshakeAtMs, nowMs, wallMs) {
      const before = seen.get(publicKey);
      const next: Seen =
        before?.handshakeAtMs === handshakeAtMs
          ? { ...before, readMs: nowMs }
          : {
              handshakeAtMs,
              beganMs: handshakeAtMs === null ? null : nowMs - ageAtFirst(wallMs - handshakeAtMs, before, nowMs),
              readMs: nowMs,
            };
      seen.set(publicKey, next);
      return age(next, nowMs);
    },
    of: (publicKey, nowMs) => age(seen.get(publicKey), nowMs),
    forget(isKnown) {
      for (const publicKey of seen.keys()) if (!isKnown(publicKey)) seen.delete(publicKey);
    },
  };
}

/**
 * A handshake that the reading before did not have is younger than that, whatever the clock on the wall was set to
 * meanwhile.
 */
function ageAtFirst(byWallMs: number, before: Seen | undefined, nowMs: number): number {
  return Math.max(0, before === undefined ? byWallMs : Math.min(byWallMs, nowMs - before.readMs));
}
