/** Who is signed in to the console. */
import { defineEntity, p } from '@mikro-orm/core';
import { hash, instant } from './columns.ts';

/** A session. Neither its token nor its key is in it. */
export const ConsoleSession = defineEntity({
  name: 'ConsoleSession',
  tableName: 'console_session',
  properties: {
    id: p.uuid().primary(),
    tokenHash: hash().unique(),
    keyProof: hash(),
    address: p.text(),
    userAgent: p.text(),
    insertedAt: instant(),
    lastUsedAt: instant(),
  },
});
