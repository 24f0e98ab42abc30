/**
 * How much each key may send: one allowance for all of its connections, which stays for one that comes back. Pure, but
 * for what it remembers.
 */

/** What one key has left. */
export interface Allowance {
  /** Takes this many bytes off, and answers how long the key is to be read no more, in ms; 0: it goes on. */
  spend(bytes: number, nowMs: number): number;
}

/** Those of all keys. */
export interface Allowances {
  /** The one of this key. */
  of(id: string): Allowance;
  /** Forgets those that are whole again. */
  sweep(nowMs: number): void;
}

/** All are whole at first. `perSecond` and `burst` in bytes. `nowMs` is monotonic. */
export function createAllowances(perSecond: number, burst: number): Allowances {
  const spent = new Map<string, { left: number; atMs: number }>();
  const filled = ({ left, atMs }: { readonly left: number; readonly atMs: number }, nowMs: number): number =>
    Math.min(burst, left + ((nowMs - atMs) * perSecond) / 1_000);

  return {
    of: (id) => ({
      spend(bytes, nowMs) {
        const known = spent.get(id);
        const left = (known === undefined ? burst : filled(known, nowMs)) - bytes;
        spent.set(id, { left, atMs: nowMs });
        return left >= 0 ? 0 : Math.ceil((-left * 1_000) / perSecond);
      },
    }),
    sweep(nowMs) {
      for (const [id, one] of spent) if (filled(one, nowMs) >= burst) spent.delete(id);
    },
  };
}
