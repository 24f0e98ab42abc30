/** What is done with releases in a directory: added, signed, promoted, taken out. */
import { rmSync } from 'node:fs';
import { versionOrder } from '../../actors/version-order.ts';
import {
  channelTarget,
  fileTarget,
  RELEASE_TARGETS_MAX,
  releaseTarget,
  type Architecture,
  type ReleaseDescription,
} from '../../transport/protocol/releases.ts';
import { EXIT, Problem } from '../problem.ts';
import type { SigningKey } from './keys.ts';
import type { Repository } from './repository.ts';
import { signRoot, signTargets, signTimestamp, type RootPlan, type SigningTime } from './signing.ts';

/** The first root: these keys, of which so many sign a later root. */
export function startRepository(
  repository: Repository,
  keys: readonly SigningKey[],
  threshold: number,
  time: SigningTime,
): void {
  repository.writeRoot(signRoot(null, planOf(keys, threshold), keys, time));
}

/** What a root is to say when it names just these keys. Throws a Problem where one is missing. */
export function planOf(keys: readonly Pick<SigningKey, 'role' | 'key'>[], threshold: number): RootPlan {
  const of = (role: SigningKey['role']) => {
    const some = keys.filter((one) => one.role === role).map(({ key }) => key);
    if (some.length === 0) throw new Problem(`there is no ${role} key: edge release keygen makes it`, EXIT.notFound);
    return some;
  };
  const root = of('root');
  if (threshold > root.length)
    throw new Problem(
      `${threshold} of ${root.length} root keys cannot sign: --threshold should be ${root.length} at most`,
      EXIT.usage,
    );
  return { root, release: of('release'), timestamp: of('timestamp'), threshold };
}

/**
 * Signs what the directory holds. Without a change only the timestamp is new. Throws a Problem for more files than
 * services and machines read.
 */
export async function signRepository(
  repository: Repository,
  keys: readonly SigningKey[],
  time: SigningTime,
): Promise<void> {
  const targets = await repository.targets();
  if (targets.length > RELEASE_TARGETS_MAX) throw tooManyFiles(repository, targets.length);
  repository.writeSigned(signTargets(repository.state(), targets, keys, time));
}

function tooManyFiles(repository: Repository, files: number): Problem {
  const isPointedTo = new Set(repository.described('channel').map(({ description }) => description.version));
  const [oldest = 'VERSION'] = repository
    .described('release')
    .map(({ name }) => name)
    .filter((name) => !isPointedTo.has(name))
    .toSorted((a, b) => (isOlder(a, b) ? -1 : 1));
  return new Problem(
    `${repository.directory} has ${files} files to sign, and machines read ${RELEASE_TARGETS_MAX}: take old versions out, the oldest of which is ${oldest} (edge release rm ${oldest})`,
  );
}

/** Says once more that what is signed is still so. */
export function refreshRepository(repository: Repository, keys: readonly SigningKey[], time: SigningTime): void {
  repository.writeSigned({ timestamp: signTimestamp(repository.state(), keys, time) });
}

/** Where a channel is to point. */
export interface Promotion {
  readonly version: string;
  readonly channel: string;
  readonly allowDowngrade: boolean;
}

/**
 * Has a channel point to a version, for every architecture that the version has. Not signed yet. Throws a Problem for
 * a version that is not there, and for an older one than the channel has, unless that is allowed.
 */
export function promote(
  repository: Repository,
  { version, channel, allowDowngrade }: Promotion,
): readonly Architecture[] {
  const releases = repository.described('release').filter(({ name }) => name === version);
  if (releases.length === 0) throw noRelease(repository, version);
  const channels = new Map(
    repository
      .described('channel')
      .filter(({ name }) => name === channel)
      .map(({ arch, description }) => [arch, description]),
  );
  for (const { arch } of releases) {
    const before = channels.get(arch);
    if (before !== undefined && isOlder(version, before.version) && !allowDowngrade)
      throw new Problem(
        `${channel} has ${before.version} for ${arch}, and ${version} is older: --allow-downgrade has machines go back to it`,
        EXIT.usage,
      );
  }
  for (const { arch, description } of releases) {
    const isBack = isOlder(version, channels.get(arch)?.version ?? version);
    // Kept while the channel stays: machines that were away are told it too.
    const isStillBack = channels.get(arch)?.version === version && channels.get(arch)?.allow_downgrade === true;
    repository.writeDescription(channelTarget(channel, arch), {
      ...description,
      ...((isBack || isStillBack) && { allow_downgrade: true }),
    });
  }
  return releases.map(({ arch }) => arch);
}

/** Whether a version comes before another one. */
export function isOlder(version: string, than: string): boolean {
  return versionOrder(version) < versionOrder(than);
}

/**
 * Takes a version out of the directory, with the files that no other one has. Not signed yet. Refuses what a channel
 * points to.
 */
export function removeRelease(repository: Repository, version: string): void {
  const releases = repository.described('release');
  const gone = releases.filter(({ name }) => name === version);
  if (gone.length === 0) throw noRelease(repository, version);
  const channels = repository.described('channel');
  const pointing = channels.find(({ description }) => description.version === version);
  if (pointing !== undefined)
    throw new Problem(
      `the channel ${pointing.name} points to ${version} for ${pointing.arch}: promote another version first`,
    );
  const kept = new Set(
    [...releases.filter(({ name }) => name !== version), ...channels].flatMap(({ description }) =>
      filesOf(description),
    ),
  );
  for (const { arch, description } of gone) {
    for (const file of filesOf(description)) if (!kept.has(file)) rmSync(repository.pathOf(file), { force: true });
    rmSync(repository.pathOf(releaseTarget(version, arch)));
  }
}

function filesOf({ files }: ReleaseDescription): readonly string[] {
  return files.map(({ sha256 }) => fileTarget(sha256));
}

function noRelease(repository: Repository, version: string): Problem {
  const known = [...new Set(repository.described('release').map(({ name }) => name))];
  return new Problem(
    `there is no release ${version} in ${repository.directory}${known.length === 0 ? ': edge release build makes one' : `: there is ${known.join(', ')}`}`,
    EXIT.notFound,
  );
}
