/**
 * By which credential each node was known while something was open to it here: so an admin that was not told for a
 * while finds those that were replaced meanwhile (E5).
 */
import type { Pool } from 'pg';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { tokenHashes } from './admin-messages.ts';

/** None is known at first. */
export class OpenCredentials {
  readonly #pool: Pool;
  readonly #open: () => readonly NodeId[];
  /** Hashes of tokens, in hex. */
  readonly #known = new Map<NodeId, string>();
  #isReading = false;

  /** `open`: nodes to which something is open now. */
  constructor(pool: Pool, open: () => readonly NodeId[]) {
    this.#pool = pool;
    this.#open = open;
  }

  /**
   * Reads those of nodes that were opened since, and nothing where there are none. Rejects with DatabaseUnavailable.
   */
  async remember(): Promise<void> {
    const open = new Set(this.#open());
    for (const node of this.#known.keys()) if (!open.has(node)) this.#known.delete(node);
    const fresh = [...open].filter((node) => !this.#known.has(node));
    if (fresh.length === 0 || this.#isReading) return;
    this.#isReading = true;
    try {
      for (const [node, hash] of await tokenHashes(this.#pool, fresh)) this.#known.set(node, hash);
    } finally {
      this.#isReading = false;
    }
  }

  /** Whatever was open to it ended: what is opened from now on came with what it has then. */
  forget(node: NodeId): void {
    this.#known.delete(node);
  }

  /**
   * Those that are open and are gone, or have another credential than the one that is known. Rejects with
   * DatabaseUnavailable.
   */
  async over(): Promise<readonly NodeId[]> {
    const open = [...new Set(this.#open())];
    const hashes = await tokenHashes(this.#pool, open);
    return open.filter((node) => {
      const [hash, known] = [hashes.get(node), this.#known.get(node)];
      if (hash !== undefined) this.#known.set(node, hash);
      return hash === undefined || (known !== undefined && known !== hash);
    });
  }
}
