/** Keys under which secrets are sealed, by their ids: docs/decisions/key-rotation.md. */
import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/** A key that seals, or did. */
export const EncryptionKey = defineEntity({
  name: 'EncryptionKey',
  tableName: 'encryption_key',
  properties: {
    id: p.text().primary(),
    sealingSince: instant(),
    /** Null: it seals now. One key at a time does. */
    replacedAt: instant().nullable(),
    /** Since when nothing is sealed under it any more. */
    retiredAt: instant().nullable(),
  },
});

/** The key that a process of an admin has as its ENCRYPTION_KEY. */
export const WantedEncryptionKey = defineEntity({
  name: 'WantedEncryptionKey',
  tableName: 'encryption_key_wish',
  properties: { instanceId: p.uuid().primary(), keyId: p.text(), insertedAt: instant() },
});
