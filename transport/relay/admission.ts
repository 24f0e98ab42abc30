/** Who may use a relay, and who may reach whom through it. */

/** A key that may. Packets pass between two that have a cluster in common; null: it is not known in which it is, so packets pass (as with derper). */
export interface Admitted {
  readonly clusters: ReadonlySet<string> | null;
}

/** Whom the relay asks. */
export interface RelayAdmission {
  /** By public key (base64) and the address that the client came from. Null: it may not. Rejects when it cannot be told now. */
  admit(publicKey: string, address: string): Promise<Admitted | null>;
  /** What was known of a key is not true any more. */
  forget(publicKey: string): void;
}

/** Keys that an answer is remembered of, and for how long, in ms. A key that is deleted is forgotten at once by `forget`. */
const REMEMBERED_MAX = 10_000;
const REMEMBERED_MS = 5_000;

/** Whether a packet may go from one to the other. */
export function shareCluster(one: Admitted, other: Admitted): boolean {
  if (one.clusters === null || other.clusters === null) return true;
  const [few, many] = one.clusters.size <= other.clusters.size ? [one.clusters, other.clusters] : [other.clusters, one.clusters];
  for (const cluster of few) if (many.has(cluster)) return true;
  return false;
}

/** Admits the keys of members, by the clusters that they are in; none: not enrolled. A gateway may be in several. Answers are remembered for some seconds. */
export function createClusterAdmission(clustersOf: (publicKey: string) => Promise<readonly string[]>): RelayAdmission {
  const remembered = new Map<string, { readonly admitted: Promise<Admitted | null>; readonly atMs: number }>();

  return {
    async admit(publicKey) {
      const known = remembered.get(publicKey);
      if (known !== undefined && performance.now() - known.atMs < REMEMBERED_MS) return await known.admitted;
      remembered.delete(publicKey);
      const [oldest] = remembered.keys();
      if (remembered.size >= REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest);
      const admitted = ask(publicKey);
      remembered.set(publicKey, { admitted, atMs: performance.now() });
      admitted.catch(() => remembered.delete(publicKey));
      return await admitted;
    },
    forget: (publicKey) => void remembered.delete(publicKey),
  };

  async function ask(publicKey: string): Promise<Admitted | null> {
    const clusters = await clustersOf(publicKey);
    return clusters.length === 0 ? null : { clusters: new Set(clusters) };
  }
}
