/** Which answers are kept for clients that ask again. */

/** The answer to a create, kept for 24 h under the client's Idempotency-Key, in the transaction of the create. */
export interface IdempotencyRecord {
  readonly scope: string;
  readonly key: string;
  readonly bodyHash: string;
  readonly answer: unknown;
}
