/** Who may use a relay, and who may reach whom through it. */

/**
 * A key that may. Packets pass between two that have a cluster in common; null: it is not known in which it is, so
 * packets pass (as with derper).
 */
export interface Admitted {
  readonly clusters: ReadonlySet<string> | null;
}

/** Whom the relay asks. */
export interface RelayAdmission {
  /**
   * By public key (base64) and the address that the client came from. Null: it may not. Rejects when it cannot be told
   * now.
   */
  admit(publicKey: string, address: string): Promise<Admitted | null>;
  /** What was known of a key is not true any more. */
  forget(publicKey: string): void;
}

/**
 * Keys that an answer is remembered of, and for how long, in ms. A key that is deleted is forgotten at once by
 * `forget`.
 */
const REMEMBERED_MAX = 10_000;
const REMEMBERED_MS = 5_000;

/** Whether a packet may go from one to the other. */
export function shareCluster(one: Admitted, other: Admitted): boolean {
  return one.clusters === null || other.clusters === null || intersects(one.clusters, other.clusters);
}

/** Whether two sets have something in common. Asked for every packet: a member is in one cluster, so it is one look. */
export function intersects(one: ReadonlySet<string | null>, other: ReadonlySet<string | null>): boolean {
  const [few, many] = one.size <= other.size ? [one, other] : [other, one];
  for (const item of few) if (many.has(item)) return true;
  return false;
}

/** How often a key is asked for when it is forgotten while it is asked for. */
const ASKED_MAX = 3;

/** Admits the keys of members, by the clusters that they are in; none: not enrolled. A gateway may be in several. */
export function createClusterAdmission(clustersOf: (publicKey: string) => Promise<readonly string[]>): RelayAdmission {
  return rememberingAdmission(async (publicKey) => {
    const clusters = await clustersOf(publicKey);
    return clusters.length === 0 ? null : { clusters: new Set(clusters) };
  });
}

/**
 * Asks, and remembers for some seconds who was admitted. That a key was not is asked again each time: a member connects
 * while it is still being enrolled, and unknown clients have a new key each time anyhow.
 */
export function rememberingAdmission(
  ask: (publicKey: string, address: string) => Promise<Admitted | null>,
): RelayAdmission {
  const remembered = new Map<string, { readonly answer: Promise<Admitted | null>; readonly atMs: number }>();

  return {
    async admit(publicKey, address) {
      for (let asked = 0; asked < ASKED_MAX; asked += 1) {
        const entry = known(publicKey) ?? remember(publicKey, ask(publicKey, address));
        const admitted = await entry.answer.catch((error: unknown) => {
          if (remembered.get(publicKey) === entry) remembered.delete(publicKey);
          throw error;
        });
        // else it was forgotten meanwhile: the answer may be of before
        const isCurrent = remembered.get(publicKey) === entry;
        if (isCurrent && admitted === null) remembered.delete(publicKey);
        if (isCurrent || admitted === null) return admitted;
      }
      return null;
    },
    forget: (publicKey) => void remembered.delete(publicKey),
  };

  function known(publicKey: string): { readonly answer: Promise<Admitted | null>; readonly atMs: number } | undefined {
    const entry = remembered.get(publicKey);
    return entry !== undefined && performance.now() - entry.atMs < REMEMBERED_MS ? entry : undefined;
  }

  function remember(
    publicKey: string,
    answer: Promise<Admitted | null>,
  ): { readonly answer: Promise<Admitted | null>; readonly atMs: number } {
    const entry = { answer, atMs: performance.now() };
    remembered.delete(publicKey);
    const [oldest] = remembered.keys();
    if (remembered.size >= REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest);
    remembered.set(publicKey, entry);
    return entry;
  }
}
