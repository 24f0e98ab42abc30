/** Answers to creates, kept for 24 h under the client's Idempotency-Key. */
import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/**
 * The answer is sealed, because it may show a secret once, and the hash of the body with it, because that may hold one.
 */
export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_key',
  properties: {
    scope: p.text().primary(),
    key: p.text().primary(),
    bodyHash: p.text(),
    sealedAnswer: p.text(),
    insertedAt: instant().defaultRaw('now()').index('idempotency_key_age'),
  },
});
