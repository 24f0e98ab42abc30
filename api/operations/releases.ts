/** Releases for agents. Files are brought by api/rest/release-files.ts and served by api/rest/releases.ts. */
import { z } from 'zod';
import { ok } from '../../actors/refusal.ts';
import { ReleasesResource } from '../../actors/resources/release.ts';
import { RELEASE_METADATA_BYTES_MAX, ReleaseVersion } from '../../transport/protocol/releases.ts';
import { storableText } from '../inputs/inputs.ts';
import { operation } from '../operation.ts';

/** Roots of one repository: one a year, and one for each key that is lost. */
const ROOTS_MAX = 64;

const text = storableText(RELEASE_METADATA_BYTES_MAX).min(2);

export const get_releases = operation({
  name: 'get_releases',
  kind: 'query',
  summary: 'List the releases for agents, where channels point, and until when the signed metadata holds.',
  rest: { method: 'GET', path: '/releases', status: 200 },
  input: z.strictObject({}),
  output: ReleasesResource,
  handle: async (_input, { ports }) => ok(await ports.releases.list()),
});

export const publish_release_metadata = operation({
  name: 'publish_release_metadata',
  kind: 'mutation',
  summary: 'Publish signed metadata (TUF) of releases whose files are here. Use edge release publish.',
  rest: { method: 'POST', path: '/release_metadata', status: 200 },
  conflicts: true,
  input: z.strictObject({
    roots: z.array(text).min(1).max(ROOTS_MAX).describe('The first one first.'),
    timestamp: text,
    snapshot: text,
    targets: text,
  }),
  output: ReleasesResource,
  handle: (texts, { ports }) => ports.releases.publish(texts),
});

export const delete_release = operation({
  name: 'delete_release',
  kind: 'mutation',
  summary: 'Delete the files of a release to which no channel points.',
  rest: { method: 'DELETE', path: '/releases/:version', status: 204 },
  conflicts: true,
  doneWhenMissing: true,
  input: z.strictObject({ version: ReleaseVersion }),
  output: z.null(),
  handle: ({ version }, { ports }) => ports.releases.remove(version),
});
