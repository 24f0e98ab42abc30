/** Something that only the owner of one thing can do. */
import type { Idempotency } from '../../actors/node/messages.ts';
import type { Result } from '../../actors/refusal.ts';
import type { OwnedBy } from './ports.ts';

/**
 * How an operation that only an owner can do is settled when its answer was lost together with the owner: `again`, it
 * may be done twice; `missing`, it deletes, so that what is not there was deleted by the first try; `record`, it
 * creates, and its answer is kept under its key (C1).
 */
export type AfterLoss = 'again' | 'missing' | 'record';

/** What is asked of whom. */
export interface ForwardedPart<T> {
  /** By its name in the catalogue, or among the operations between admins. */
  readonly operation: string;
  /** As JSON. It is parsed again by the owner. */
  readonly input: unknown;
  readonly afterLoss: AfterLoss | null;
  /** Whose owner must do it, or nobody's. Null: any admin does it. */
  readonly ownedBy: (() => Promise<OwnedBy | null> | OwnedBy | null) | null;
  /** Does it here. `isRepeat`: an earlier try may have been done. */
  handle(idempotency: Idempotency | null, isRepeat: boolean): Promise<Result<T>>;
}
