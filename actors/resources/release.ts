/** Releases that this service holds for its agents, as clients see them. */
import { z } from 'zod';
import { resource } from './resource.ts';

const held = z.object({
  version: z.string(),
  arch: z.string(),
  released_at: z.iso.datetime(),
  bytes: z.int().describe('Of its files as they are downloaded.'),
  is_stored: z.boolean().describe('False: files of it were deleted here. Publishing brings them back.'),
});

/** Everything that is published. */
export const ReleasesResource = resource('Releases', 'What is published for agents, as it was signed.', {
  metadata: z
    .object({ root: z.int(), timestamp: z.int(), snapshot: z.int(), targets: z.int() })
    .nullable()
    .describe('Versions of the signed metadata. Null: nothing is published.'),
  expires_at: z.iso
    .datetime()
    .nullable()
    .describe('From then on machines refuse the metadata: it must be signed again before.'),
  expires_first: z.string().nullable(),
  channels: z.array(
    z.object({ channel: z.string(), arch: z.string(), version: z.string(), allow_downgrade: z.boolean() }),
  ),
  releases: z.array(held),
  stored_bytes: z.int().describe('Of all files, also those that are being brought.'),
  stored_bytes_max: z.int().describe('RELEASES_BYTES_MAX.'),
});
export type ReleasesResource = z.output<typeof ReleasesResource>;
