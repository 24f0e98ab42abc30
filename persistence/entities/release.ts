/** Releases, as they were published: signed metadata, and files in chunks. */
import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/** A metadata file, byte for byte as it was signed. */
export const ReleaseMetadata = defineEntity({
  name: 'ReleaseMetadata',
  tableName: 'release_metadata',
  properties: {
    role: p.text().primary(),
    version: p.integer().primary(),
    content: p.text(),
    expiresAt: instant(),
    insertedAt: instant(),
  },
});

/** What the last metadata names. */
export const ReleaseTarget = defineEntity({
  name: 'ReleaseTarget',
  tableName: 'release_target',
  properties: { path: p.text().primary(), sha256: p.text(), bytes: p.integer() },
  indexes: [{ name: 'release_target_file', properties: ['sha256'] }],
});

/** A file by its hash. It is served once it is complete, which is when its hash was checked. */
export const ReleaseFile = defineEntity({
  name: 'ReleaseFile',
  tableName: 'release_file',
  properties: {
    sha256: p.text().primary(),
    bytes: p.integer(),
    received: p.integer(),
    isComplete: p.boolean(),
    updatedAt: instant(),
  },
});

/** A piece of a file: RELEASE_CHUNK_BYTES, but for the last one. */
export const ReleaseChunk = defineEntity({
  name: 'ReleaseChunk',
  tableName: 'release_chunk',
  properties: { sha256: p.text().primary(), index: p.integer().primary(), content: p.uint8array() },
});
