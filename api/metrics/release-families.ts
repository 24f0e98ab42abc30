/** Metrics of releases: what machines download, and until when what is published holds. */
import { by, counter, gauge, one, type Family } from './family.ts';

/** In the order in which they are written. */
export const RELEASE_FAMILIES: readonly Family[] = [
  gauge('release_downloads', 'Downloads of releases that are under way here.', [], ({ live: { releases } }) =>
    one(releases.active),
  ),
  counter(
    'release_downloads_total',
    'Downloads of releases that were asked for here, and what became of some: refused for want of a place, or cut.',
    ['outcome'],
    ({ live: { releases } }) =>
      by('outcome', { started: releases.started, refused: releases.refused, cut: releases.cut }),
  ),
  counter('release_download_bytes_total', 'Bytes of releases that were sent to machines.', [], ({ live }) =>
    one(live.releases.bytes),
  ),
  gauge(
    'release_metadata_expiry_timestamp_seconds',
    'When the first part of what is published runs out. Absent where nothing is published.',
    [],
    ({ totals }) => one(totals?.releases?.expiresAtMs == null ? null : totals.releases.expiresAtMs / 1_000),
  ),
  gauge('release_stored_bytes', 'Bytes of all files of releases in the database.', [], ({ totals }) =>
    one(totals?.releases?.storedBytes),
  ),
];
