/** What the script of the installation is told of the releases that are published. */
import { createHash } from 'node:crypto';
import test from 'ava';
import { publishedRelease } from '../../../../api/install/published.ts';
import { createMirror } from '../../../../transport/releases/mirror.ts';
import { memoryReleaseRows } from '../../../support/releases/release-rows.ts';
import { createReleases, rotateKey } from '../../../support/releases/releases.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

test('the newest root is told of with all those that lead to it', async (t) => {
  const releases = await createReleases(temporaryDirectory(t));
  const limits = { RELEASES_BYTES_MAX: 1, RELEASE_DOWNLOAD_BYTES_PER_SECOND: 1_048_576 };
  const mirror = createMirror(limits, memoryReleaseRows(), () => performance.now());
  await rotateKey(releases, 'root.pem');
  await rotateKey(releases, 'release.pem');
  const roots = releases.repository.roots();
  const published = await mirror.publish({ ...releases.repository.metadata(), roots });

  const found = await publishedRelease(mirror)();

  const chain = roots.toReversed().map((text) => createHash('sha256').update(text).digest('hex'));
  t.true(published.ok);
  t.deepEqual(found, { root: { path: 'releases/metadata/3.root.json', sha256: chain[0] ?? '' }, chain, files: [] });
});
