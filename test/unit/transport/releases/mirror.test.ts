import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { Metadata } from '@tufjs/models';
import { signTargets, signTimestamp, VALIDITY } from '../../../../cli/release/signing.ts';
import { createMirror } from '../../../../transport/releases/mirror.ts';
import type { ReleaseRows } from '../../../../transport/releases/ports.ts';
import type { TargetEntry } from '../../../../transport/releases/repository/trust.ts';
import { RELEASE_DESCRIPTION_BYTES_MAX, targetOf } from '../../../../transport/protocol/releases.ts';
import { manyTargets } from '../../../support/releases/large-metadata.ts';
import { memoryReleaseRows } from '../../../support/releases/release-rows.ts';
import { createReleases } from '../../../support/releases/releases.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const SETTINGS = { RELEASES_BYTES_MAX: 10_000_000, RELEASE_DOWNLOAD_BYTES_PER_SECOND: 1_000_000 };

/** A mirror with 0.2.0 on the channel stable and 0.3.0 on none. `changed`: rows that do something else. */
async function mirrored(t: ExecutionContext, changed: (rows: ReleaseRows) => Partial<ReleaseRows> = () => ({})) {
  const rows = memoryReleaseRows();
  const mirror = createMirror(SETTINGS, { ...rows, ...changed(rows) }, () => 0);
  const releases = await createReleases(temporaryDirectory(t));
  const { repository } = releases;
  const publish = async () => {
    for (const { path, sha256, bytes } of repository.signedTargets())
      await mirror.bring({ sha256, bytes, offset: 0, content: readFileSync(repository.pathOf(path)) });
    return mirror.publish({ ...repository.metadata() });
  };
  await releases.add({ version: '0.2.0' });
  await releases.promote('0.2.0');
  await releases.add({ version: '0.3.0' });
  await publish();
  return { mirror, releases, publish };
}

test('of all that is published only descriptions are read, which are small', async (t) => {
  const read = new Set<string>();
  const { mirror, releases } = await mirrored(t, (rows) => ({
    texts(sha256s) {
      for (const sha256 of sha256s) read.add(sha256);
      return rows.texts(sha256s);
    },
  }));
  const { repository, keys } = releases;
  const targets = repository.signedTargets();
  const isDescription = ({ path }: (typeof targets)[number]) => targetOf(path)?.kind !== 'file';
  const large = targets.map((entry) =>
    isDescription(entry) ? { ...entry, bytes: RELEASE_DESCRIPTION_BYTES_MAX + 1 } : entry,
  );
  const signed = signTargets(repository.state(), large, keys, { nowMs: Date.now(), validity: VALIDITY });

  t.deepEqual(read, new Set(targets.filter(isDescription).map(({ sha256 }) => sha256)));
  const refused = await mirror.publish({ roots: repository.roots(), ...signed });

  t.regex(JSON.stringify(refused), /channels\/stable\/linux-x64\.json has 16385 bytes, and machines read 16384/u);
});

test('what is signed and makes no sense to machines is refused, and says which file', async (t) => {
  const { mirror, releases } = await mirrored(t);
  const { repository, keys } = releases;
  const refusalOf = async (change: (entry: TargetEntry) => Partial<TargetEntry>) => {
    const entries = repository.signedTargets().map((entry) => ({ ...entry, ...change(entry) }));
    const signed = signTargets(repository.state(), entries, keys, { nowMs: Date.now(), validity: VALIDITY });
    return JSON.stringify(await mirror.publish({ roots: repository.roots(), ...signed }));
  };
  const path = 'releases/0.3.0/linux-x64.json';

  t.regex(
    await refusalOf((entry) => (entry.path === path ? { path: 'releases/0.4.0/linux-x64.json' } : {})),
    /releases\/0\.4\.0\/linux-x64\.json describes the version 0\.3\.0/u,
  );
  t.regex(
    await refusalOf((entry) => (entry.path === path ? { path: 'releases/0.3.0/linux-arm64.json' } : {})),
    /releases\/0\.3\.0\/linux-arm64\.json describes a release for linux-x64/u,
  );
  for (const change of [{ sha256: 'a'.repeat(64) }, { bytes: 7 }])
    t.regex(
      await refusalOf((entry) => (entry.path.startsWith('files/') ? change : {})),
      /linux-x64\.json names files\/\S+, which the metadata does not name, or as another file/u,
    );
});

test.serial('what is published is read once, however often it is asked for', async (t) => {
  const { repository, keys, root } = await createReleases(temporaryDirectory(t));
  const time = { nowMs: Date.now(), validity: VALIDITY };
  const first = { root, ...signTargets(repository.state(), manyTargets(1_000), keys, time) };
  const second = { ...first, timestamp: signTimestamp(first, keys, time) };
  let trusted = first;
  const published = async () => ({ trusted, targets: [], storedBytes: 0 });
  const mirror = createMirror(SETTINGS, { ...memoryReleaseRows(), published }, () => 0);
  const read: string[] = [];
  const own = Object.getOwnPropertyDescriptor(Metadata, 'fromJSON') ?? {};
  t.teardown(() => Object.defineProperty(Metadata, 'fromJSON', own));
  const counting = new Proxy(own.value as (kind: string) => unknown, {
    apply(to, self, words: [string]) {
      read.push(words[0]);
      return Reflect.apply(to, self, words);
    },
  });
  Object.defineProperty(Metadata, 'fromJSON', { ...own, value: counting });

  for (let times = 0; times < 10; times += 1) t.like((await mirror.list()).metadata, { root: 1, targets: 2 });
  t.deepEqual(read, ['root', 'timestamp', 'snapshot', 'targets']);
  trusted = second;

  t.like((await mirror.list()).metadata, { timestamp: 3 });
  t.is(read.length, 8);
});

test('a release to which a channel came to point meanwhile is not deleted', async (t) => {
  let meanwhile = async (): Promise<unknown> => undefined;
  const { mirror, releases, publish } = await mirrored(t, (rows) => ({
    async withdraw(...words) {
      await meanwhile();
      return rows.withdraw(...words);
    },
  }));
  meanwhile = async () => {
    await releases.promote('0.3.0');
    return publish();
  };

  t.like(await mirror.remove('0.3.0'), { ok: false, refusal: { code: 'conflict' } });
  meanwhile = async () => undefined;
  t.true((await mirror.list()).releases.every(({ is_stored: isStored }) => isStored));
  t.like(await mirror.remove('0.2.0'), { ok: true });
});
