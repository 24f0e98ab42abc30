/** Keys with which agents join a cluster. */
import { defineEntity, p } from '@mikro-orm/core';
import type { Labels } from '../../transport/protocol/labels.ts';
import { Cluster } from './cluster.ts';
import { dates, hash, instant } from './columns.ts';

/** Found by the hash of its nonce; the blob itself is sealed, so that a single read can show it again. */
export const EnrollmentKey = defineEntity({
  name: 'EnrollmentKey',
  tableName: 'enrollment_key',
  properties: {
    id: p.uuid().primary(),
    cluster: () => p.manyToOne(Cluster).deleteRule('cascade').index('enrollment_key_of_cluster'),
    name: p.text().nullable(),
    nonceHash: hash().unique(),
    sealedKey: p.text(),
    expiredAt: instant().nullable(),
    usesRemaining: p.integer().nullable(),
    isPublic: p.boolean().default(false),
    lastUsedAt: instant().nullable(),
    labels: p.json<Labels>().defaultRaw(`'{}'`),
    ...dates,
  },
});
