/** What one mirror can cost a machine that asks it, before anybody has looked at a signature. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { refreshTrust, trustRoot } from '../../../../agent/updater/trust.ts';
import { signTargets, VALIDITY } from '../../../../cli/release/signing.ts';
import { RELEASE_TARGETS_MAX } from '../../../../transport/protocol/releases.ts';
import { cpuMsOf } from '../../../support/cpu-time.ts';
import { manyTargets, rootOfManyKeys } from '../../../support/releases/large-metadata.ts';
import { mirrorReleases } from '../../../support/releases/release-mirror.ts';
import { createReleases } from '../../../support/releases/releases.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const OPTIONS = {
  agentFor: () => false as const,
  signal: new AbortController().signal,
  retries: { triesMax: 1, msMax: 0, waitSecondsMax: 0 },
  untilMs: 0,
  meanwhile: async () => undefined,
};

/** A megabyte that is refused, or read, takes a fifth of this; with the square of it minutes. */
const CPU_MS_MAX = 1_000;

test.serial('a next root of a megabyte, which nobody signed, is refused in little time', async (t) => {
  const releases = await createReleases(temporaryDirectory(t));
  const mirror = await mirrorReleases(t, releases.directory);
  const trust = join(temporaryDirectory(t), 'trust');
  trustRoot(trust, releases.root);
  writeFileSync(join(releases.directory, 'metadata/2.root.json'), rootOfManyKeys(2));

  const cpuMs = await cpuMsOf(() =>
    t.throwsAsync(refreshTrust(trust, mirror.url, OPTIONS, Date.now()), {
      message: /^http:\S+\/2\.root\.json has \d{5} keys, and at most 64 are read$/u,
    }),
  );

  t.true(cpuMs < CPU_MS_MAX, `${cpuMs} ms`);
});

test.serial('a machine does not begin to trust a root of a megabyte', async (t) => {
  const trust = join(temporaryDirectory(t), 'trust');

  const cpuMs = await cpuMsOf(() =>
    t.throws(() => trustRoot(trust, rootOfManyKeys(1)), {
      message: /^this is no signed root\.json: it has \d{5} keys, and at most 64 are read$/u,
    }),
  );

  t.true(cpuMs < CPU_MS_MAX, `${cpuMs} ms`);
  t.false(existsSync(trust));
});

test.serial('as many files as one repository may name are looked up in little time', async (t) => {
  const { repository, keys, root, directory } = await createReleases(temporaryDirectory(t));
  const mirror = await mirrorReleases(t, directory);
  const trust = join(temporaryDirectory(t), 'trust');
  mkdirSync(trust);
  trustRoot(trust, root);
  const targets = manyTargets(RELEASE_TARGETS_MAX);
  repository.writeSigned(signTargets(repository.state(), targets, keys, { nowMs: Date.now(), validity: VALIDITY }));
  let found: unknown;

  const cpuMs = await cpuMsOf(async () => {
    const trusted = await refreshTrust(trust, mirror.url, OPTIONS, Date.now());
    found = await trusted.target(targets.at(-1)?.path ?? '');
  });

  t.like(found, { length: 1 });
  t.true(cpuMs < CPU_MS_MAX, `${cpuMs} ms`);
});
