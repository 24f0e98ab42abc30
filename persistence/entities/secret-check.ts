/** What proves that the ENCRYPTION_KEY is the one this database was made with (E3). */
import { defineEntity, p } from '@mikro-orm/core';

/** A known text, sealed. */
export const SecretCheck = defineEntity({
  name: 'SecretCheck',
  tableName: 'secret_check',
  properties: { name: p.text().primary(), sealed: p.text() },
});
