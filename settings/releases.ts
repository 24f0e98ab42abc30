/** Settings of the releases that an admin holds for its agents. */
import { integer } from './fields.ts';

/** Releases. */
export const RELEASE_SETTINGS = {
  RELEASES_BYTES_MAX: integer({ min: 1_048_576, max: 1_099_511_627_776 })
    .default(4_294_967_296)
    .describe(
      'Most bytes of all files of releases together, in the database. A release with a new runtime has some 45 MB for each architecture, one without some 1 MB.',
    ),
  RELEASE_DOWNLOAD_BYTES_PER_SECOND: integer({ min: 16_384, max: 12_500_000_000 })
    .default(26_214_400)
    .describe(
      'Most bytes a second of all downloads of releases from this admin together, so that updates leave room for sessions. With 25 MiB, 500 machines fetch 1 MB each in 20 s, and a new runtime in 15 minutes.',
    ),
};
