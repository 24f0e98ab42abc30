import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Updater } from 'tuf-js';
import { createClient } from '../../../cli/service/client.ts';
import { planOf } from '../../../cli/release/releases.ts';
import { signRoot, VALIDITY } from '../../../cli/release/signing.ts';
import { publishRepository } from '../../../cli/release/publish.ts';
import { ADMIN_KEYS, startTestAdmin } from '../../support/admin.ts';
import { mirrorReleases } from '../../support/releases/release-mirror.ts';
import { createReleases, forge } from '../../support/releases/releases.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const CHANNEL = 'channels/stable/linux-x64.json';
const DAY_MS = 86_400_000;

/** Far above what the mirror of this very process takes, in ms: the process may be busy. */
const FETCH_MS_MAX = 60_000;

/** A machine that trusts a root. */
function machine(t: ExecutionContext, root: string) {
  const metadataDir = join(temporaryDirectory(t), 'trust');
  mkdirSync(metadataDir);
  writeFileSync(join(metadataDir, 'root.json'), root);
  return (url: string) =>
    new Updater({
      metadataDir,
      metadataBaseUrl: `${url}/releases/metadata`,
      targetDir: metadataDir,
      targetBaseUrl: `${url}/releases/targets`,
      config: { prefixTargetsWithHash: false, fetchRetry: 0, fetchTimeout: FETCH_MS_MAX },
    });
}

async function fetched(updater: Updater, target: string): Promise<string> {
  const info = await updater.getTargetInfo(target);
  if (info === undefined) throw new Error(`no ${target}`);
  return readFileSync(await updater.downloadTarget(info), 'utf8');
}

async function published(t: ExecutionContext) {
  const releases = await createReleases(temporaryDirectory(t));
  await releases.add({ version: '0.2.0' });
  await releases.promote('0.2.0');
  return { releases, mirror: await mirrorReleases(t, releases.directory), at: machine(t, releases.root) };
}

test('tuf-js reads what is signed', async (t) => {
  const { mirror, at } = await published(t);

  const description = JSON.parse(await fetched(at(mirror.url), CHANNEL)) as { version: string; files: unknown[] };

  t.like(description, { version: '0.2.0', arch: 'linux-x64' });
  t.is(description.files.length, 3);
});

test('tuf-js refuses what was forged, replayed, is out of date, or garbage', async (t) => {
  const { releases, mirror, at } = await published(t);
  await fetched(at(mirror.url), CHANNEL);
  const older = releases.snapshot();
  await releases.add({ version: '0.3.0' });
  await fetched(at(mirror.url), CHANNEL);

  releases.restore(older);
  await t.throwsAsync(fetched(at(mirror.url), CHANNEL), { message: /less than current version/u });
  forge(releases.repository, 'timestamp.json');
  await t.throwsAsync(fetched(at(mirror.url), CHANNEL), { message: /signed by 0\/1 keys/u });
  mirror.behave((path) => (path.endsWith('timestamp.json') ? 'garbage' : 'ok'));
  await t.throwsAsync(fetched(at(mirror.url), CHANNEL));
  mirror.behave((path) => (path.startsWith('targets/') ? 'garbage' : 'ok'));
  await releases.sign({ nowMs: Date.now() });
  await releases.sign();
  await t.throwsAsync(fetched(machine(t, releases.root)(mirror.url), CHANNEL), { message: /hash|length/iu });
  mirror.behave(() => 'ok');
  releases.refresh({ nowMs: Date.now() - 40 * DAY_MS });
  await t.throwsAsync(fetched(machine(t, releases.root)(mirror.url), CHANNEL), {
    message: /timestamp\.json is expired/u,
  });
});

test('tuf-js reads from an admin what was published there, also a root that was changed', async (t) => {
  const releases = await createReleases(temporaryDirectory(t));
  await releases.add({ version: '0.2.0' });
  await releases.promote('0.2.0');
  const { url } = await startTestAdmin(t);
  const connection = { url, key: ADMIN_KEYS.API_KEY };
  const publish = () => publishRepository(releases.repository, { api: createClient(connection), connection });
  const at = machine(t, releases.root);

  const first = await publish();
  t.like(JSON.parse(await fetched(at(url), CHANNEL)), { version: '0.2.0' });
  await releases.add({ version: '0.3.0' });
  await releases.promote('0.3.0');
  releases.repository.writeRoot(
    signRoot(releases.root, planOf(releases.keys, 1), releases.keys, { nowMs: Date.now(), validity: VALIDITY }),
  );
  const second = await publish();

  t.like(JSON.parse(await fetched(at(url), CHANNEL)), { version: '0.3.0' });
  t.deepEqual([first.files, second.files], [4, 3], 'channel and release are the same file, and so is the runtime');
  t.deepEqual(second.releases.metadata, { root: 2, timestamp: 5, snapshot: 5, targets: 5 });
});
