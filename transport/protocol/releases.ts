/**
 * A repository of releases as machines read it: the names of its files, and what its descriptions say. The metadata
 * around it is TUF's. Source: docs/architecture/self-updates.md; https://theupdateframework.github.io/specification/.
 */
import { z } from 'zod';

/** Where an admin serves metadata and targets, without a key. */
export const RELEASES_METADATA_PATH = '/releases/metadata/';
export const RELEASES_TARGETS_PATH = '/releases/targets/';

/** Machines that releases are made for, as Node names them: system and architecture. */
export const ARCHITECTURES = ['linux-x64', 'linux-arm64'] as const;
/** One of them. */
export type Architecture = (typeof ARCHITECTURES)[number];

/** The channel that machines follow unless told otherwise. */
export const DEFAULT_CHANNEL = 'stable';

/** Names of the files of a release. */
export const RELEASE_FILES = ['node', 'edge-agent.cjs', 'edge-updater.cjs'] as const;
/** One of them. */
export type ReleaseFileName = (typeof RELEASE_FILES)[number];

/** Of one file, unpacked or packed, in bytes. Node's runtime has 127 MB unpacked, 45 MB packed. */
export const RELEASE_FILE_BYTES_MAX = 268_435_456;

/** Of one description, in bytes: three files need about 1 KB. */
export const RELEASE_DESCRIPTION_BYTES_MAX = 16_384;

/** Of one metadata file, in bytes. A release of one architecture adds about 1.2 KB to the targets. */
export const RELEASE_METADATA_BYTES_MAX = 1_048_576;

/**
 * Files that the metadata of one repository names: of a version for one architecture a description and up to three
 * programs, of a channel a description. They are some 800 KB.
 */
export const RELEASE_TARGETS_MAX = 4_096;

/** Where files are brought to an admin, with its API key; the SHA-256 of the packed file follows. */
export const RELEASE_FILES_PATH = '/api/v1/releases/files/';

/** Files lie in the database in pieces of so many bytes, and are served by them. */
export const RELEASE_CHUNK_BYTES = 262_144;

/** Most bytes of one piece of an upload: whole chunks, but for the last piece of a file. */
export const RELEASE_PIECE_BYTES_MAX = 16 * RELEASE_CHUNK_BYTES;

/** A hash as it stands in names: SHA-256, lower-case hexadecimal. */
export const Sha256Hex = z.string().regex(/^[0-9a-f]{64}$/u, 'must be a SHA-256 in lower-case hexadecimal');

/** A version of the agent: three numbers, and what Semantic Versioning allows behind a dash. It is part of paths. */
export const ReleaseVersion = z
  .string()
  .max(64)
  .regex(
    /^\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/u,
    'must be a version like 1.2.3 or 1.2.3-rc.1',
  );

/** The name of a channel: part of paths too. */
export const ChannelName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/u, 'must be 1 to 32 of a-z, 0-9 and -, with no - at either end');

/** One file of a release: as it is used, and as it is downloaded (gzip). */
export const ReleaseFile = z.strictObject({
  name: z.enum(RELEASE_FILES),
  sha256: Sha256Hex,
  bytes: z.int().min(1).max(RELEASE_FILE_BYTES_MAX),
  packed_sha256: Sha256Hex,
  packed_bytes: z.int().min(1).max(RELEASE_FILE_BYTES_MAX),
});
/** One file of a release. */
export type ReleaseFile = z.output<typeof ReleaseFile>;

/**
 * What `releases/<version>/<arch>.json` and `channels/<channel>/<arch>.json` say. Unknown fields are passed over:
 * updaters in the field are older than releases.
 */
export const ReleaseDescription = z.object({
  version: ReleaseVersion,
  released_at: z.iso.datetime(),
  arch: z.enum(ARCHITECTURES),
  /** Of the agent's journal: an updater need not install what cannot read the journal that is there. */
  journal_schema: z.int().min(1),
  /** Between agent and admin. */
  protocol: z.int().min(1),
  files: z.array(ReleaseFile).min(1).max(RELEASE_FILES.length),
  /** Only of channels: machines with a later version go back to this one. Without it they stay where they are. */
  allow_downgrade: z.boolean().optional(),
});
/** What a release is made of. */
export type ReleaseDescription = z.output<typeof ReleaseDescription>;

/** The target that describes what a channel points to. */
export function channelTarget(channel: string, arch: Architecture): string {
  return `channels/${channel}/${arch}.json`;
}

/** The target that describes a version. */
export function releaseTarget(version: string, arch: Architecture): string {
  return `releases/${version}/${arch}.json`;
}

/** The target of a packed file: `sha256` is that of the file unpacked, as `ReleaseFile` has it. */
export function fileTarget(sha256: string): string {
  return `files/${sha256}.gz`;
}

/** What a target is, by its path; null: no repository of ours has such a target. */
export function targetOf(
  path: string,
):
  | { readonly kind: 'file'; readonly sha256: string }
  | { readonly kind: 'release'; readonly version: string; readonly arch: Architecture }
  | { readonly kind: 'channel'; readonly channel: string; readonly arch: Architecture }
  | null {
  const [, file] = /^files\/([0-9a-f]{64})\.gz$/u.exec(path) ?? [];
  if (file !== undefined) return { kind: 'file', sha256: file };
  const [, kind, name = '', archName] =
    /^(releases|channels)\/([^/]{1,64})\/([a-z0-9-]{1,32})\.json$/u.exec(path) ?? [];
  const arch = ARCHITECTURES.find((known) => known === archName);
  if (kind === undefined || arch === undefined) return null;
  if (kind === 'releases')
    return ReleaseVersion.safeParse(name).success ? { kind: 'release', version: name, arch } : null;
  return ChannelName.safeParse(name).success ? { kind: 'channel', channel: name, arch } : null;
}
