/** What is signed is small enough for those who are to read it. */
import { generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import { signingKey, type KeyRole, type SigningKey } from '../../../../cli/release/keys.ts';
import { planOf } from '../../../../cli/release/releases.ts';
import { signRoot, signTargets, VALIDITY } from '../../../../cli/release/signing.ts';
import { Problem } from '../../../../cli/problem.ts';
import { RELEASE_TARGETS_MAX } from '../../../../transport/protocol/releases.ts';
import { METADATA_MEMBERS_MAX, METADATA_SIGNATURES_MAX } from '../../../../transport/releases/repository/metadata.ts';
import { manyTargets } from '../../../support/releases/large-metadata.ts';
import { createReleases } from '../../../support/releases/releases.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const TIME = { nowMs: Date.UTC(2026, 10, 23), validity: VALIDITY };

test('more files than machines read are not signed, and the oldest version that can go is named', async (t) => {
  const releases = await createReleases(temporaryDirectory(t));
  const { repository } = releases;
  for (const version of ['0.2.0', '0.10.0', '0.9.0']) await releases.add({ version });
  await releases.promote('0.2.0');
  const before = repository.metadata();
  repository.targets = async () => manyTargets(RELEASE_TARGETS_MAX + 1);

  await t.throwsAsync(releases.sign(), {
    instanceOf: Problem,
    message: /^\S+ has 4097 files to sign, and machines read 4096: .* is 0\.9\.0 \(edge release rm 0\.9\.0\)$/u,
  });
  t.deepEqual(repository.metadata(), before);
  repository.targets = async () => manyTargets(RELEASE_TARGETS_MAX);
  await t.notThrowsAsync(releases.sign());
});

test('what was signed and nobody would take is a problem that says what to do', async (t) => {
  const { repository, keys } = await createReleases(temporaryDirectory(t));
  repository.writeSigned(signTargets(repository.state(), manyTargets(RELEASE_TARGETS_MAX + 1), keys, TIME));

  t.throws(() => repository.signedTargets(), {
    instanceOf: Problem,
    message: /: targets\.json has 4097 targets, and at most 4096 are read \(edge release sign signs what is there\)$/u,
  });
});

test('a root that machines do not read is not signed', async (t) => {
  const { keys } = await createReleases(temporaryDirectory(t));
  const withMore = (role: KeyRole, count: number) => [
    ...keys,
    ...Array.from({ length: count }, () => signingKey('', role, generateKeyPairSync('ed25519').privateKey)),
  ];
  const signed = (all: readonly SigningKey[]) => signRoot(null, planOf(all, 1), all, TIME);

  t.throws(() => signed(withMore('root', METADATA_SIGNATURES_MAX)), {
    instanceOf: Problem,
    message: 'machines would not take the new root: it has 33 signatures, and at most 32 are read',
  });
  t.throws(() => signed(withMore('release', METADATA_MEMBERS_MAX - 2)), { message: /it has 65 keys, and at most 64/u });
  t.notThrows(() => signed(withMore('release', METADATA_MEMBERS_MAX - 3)));
});
