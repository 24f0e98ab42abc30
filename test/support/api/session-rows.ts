/** Sessions of the console in memory, by a clock that a test sets. */
import type { NewSession, SessionLimits, SessionRows, StoredSession } from '../../../api/console/ports.ts';

interface Kept extends NewSession {
  readonly insertedAtMs: number;
  readonly lastUsedAtMs: number;
}

/** The same promises as the rows of PostgreSQL: test/system/storage/console-sessions.test.ts asks both. */
export function memorySessionRows(clock: { readonly nowMs: () => number }): SessionRows {
  const kept = new Map<string, Kept>();
  const all = (): StoredSession[] =>
    [...kept.values()]
      .toSorted((one, other) => other.lastUsedAtMs - one.lastUsedAtMs || (one.id < other.id ? 1 : -1))
      .map(({ insertedAtMs, lastUsedAtMs, ...session }) => ({
        ...session,
        insertedAt: new Date(insertedAtMs).toISOString(),
        lastUsedAt: new Date(lastUsedAtMs).toISOString(),
        ageMs: clock.nowMs() - insertedAtMs,
        idleMs: clock.nowMs() - lastUsedAtMs,
      }));
  const living = ({ idleMsMax, ageMsMax }: Pick<SessionLimits, 'idleMsMax' | 'ageMsMax'>): StoredSession[] =>
    all().filter(({ ageMs, idleMs }) => ageMs < ageMsMax && idleMs < idleMsMax);
  return {
    async create(session, limits) {
      const staying = new Set(
        living(limits)
          .slice(0, limits.sessionsMax - 1)
          .map(({ id }) => id),
      );
      for (const id of kept.keys()) if (!staying.has(id)) kept.delete(id);
      kept.set(session.id, { ...session, insertedAtMs: clock.nowMs(), lastUsedAtMs: clock.nowMs() });
    },
    find: async (hashes) =>
      all().filter(({ tokenHash }) => hashes.some((hash) => Buffer.compare(hash, tokenHash) === 0)),
    mark: async (limits) =>
      living(limits)
        .map(({ id }) => id)
        .toSorted()
        .join(' '),
    living: async (ids, limits) =>
      living(limits)
        .map(({ id }) => id)
        .filter((id) => ids.includes(id)),
    async touch(id) {
      const one = kept.get(id);
      if (one !== undefined) kept.set(id, { ...one, lastUsedAtMs: clock.nowMs() });
    },
    list: async () => all(),
    remove: async (id) => kept.delete(id),
  };
}
