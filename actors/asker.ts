/** Who waits for an answer, and which answers are kept. */

/** Where an answer goes. Given by `ask`, opaque to behaviour. */
export type Asker = number & { readonly __brand: 'Asker' };

/** The answer to a create, kept for 24 h under the client's Idempotency-Key, in the transaction of the create. */
export interface Remembered {
  readonly scope: string;
  readonly key: string;
  readonly bodyHash: string;
  readonly answer: unknown;
}
