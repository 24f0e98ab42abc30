/** What agents are installed from, out of the releases that are published here. */
import {
  ReleaseDescription,
  RELEASES_METADATA_PATH,
  RELEASES_TARGETS_PATH,
} from '../../transport/protocol/releases.ts';
import { fileTarget, channelTarget, ARCHITECTURES } from '../../transport/protocol/releases.ts';
import type { Download, Place, Releases } from '../release-ports.ts';
import type { PublishedRelease } from './routes.ts';
import type { InstallFile } from './script.ts';

/** A description is read by this admin for itself: it takes no place of a download. */
const OWN_PLACE: Place = { mayWrite: async () => Promise.resolve(), cut: () => {}, leave: () => {} };

/** Roots that are told of: machines follow as many new ones at once. Source: agent/updater/trust.ts. */
const ROOTS_MAX = 64;

/** Asks these releases. The root is the newest: keys that older ones knew may be lost. */
export function publishedRelease(releases: Pick<Releases, 'list' | 'find'>): PublishedRelease {
  return async () => {
    const { metadata, channels, releases: held } = await releases.list();
    if (metadata === null) return null;
    const path = `${RELEASES_METADATA_PATH}${metadata.root}.root.json`;
    const root = await releases.find(path);
    if (root === null) return null;
    const isStored = (version: string, arch: string) =>
      held.some((one) => one.version === version && one.arch === arch && one.is_stored);
    const files = await Promise.all(
      channels
        .filter(({ version, arch }) => isStored(version, arch))
        .map(({ channel, arch }) => filesOf(releases, channel, arch)),
    );
    const chain = await chainOf(releases, metadata.root);
    return { root: { path: withoutSlash(path), sha256: root.etag }, chain, files: files.flat() };
  };
}

/** The last roots up to this version. One that was not brought here is no file of it. */
async function chainOf(releases: Pick<Releases, 'find'>, last: number): Promise<readonly string[]> {
  const versions = Array.from({ length: Math.min(last, ROOTS_MAX) }, (_, index) => last - index);
  const roots = await Promise.all(
    versions.map((version) => releases.find(`${RELEASES_METADATA_PATH}${version}.root.json`)),
  );
  return roots.flatMap((root) => root?.etag ?? []);
}

async function filesOf(
  releases: Pick<Releases, 'find'>,
  channel: string,
  name: string,
): Promise<readonly InstallFile[]> {
  const arch = ARCHITECTURES.find((known) => known === name);
  const target =
    arch === undefined ? null : await releases.find(`${RELEASES_TARGETS_PATH}${channelTarget(channel, arch)}`);
  if (target === null) return [];
  const { version, files } = ReleaseDescription.parse(JSON.parse(await textOf(target)));
  return files.map(({ name: file, sha256, bytes, packed_sha256: packedSha256, packed_bytes: packedBytes }) => ({
    channel,
    arch: name,
    version,
    name: file,
    sha256,
    bytes,
    packedSha256,
    packedBytes,
    path: withoutSlash(`${RELEASES_TARGETS_PATH}${fileTarget(sha256)}`),
  }));
}

async function textOf(file: Download): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of file.content(0, file.bytes, OWN_PLACE)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

function withoutSlash(path: string): string {
  return path.replace(/^\//u, '');
}
