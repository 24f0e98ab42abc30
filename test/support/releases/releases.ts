/** A small repository of releases, built and signed as `edge release` does it, and broken ones. */
import { mkdirSync, readFileSync, writeFileSync, cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeKeys, readKeys, type SigningKey } from '../../../cli/release/keys.ts';
import { packFile } from '../../../cli/release/packing.ts';
import { promote, refreshRepository, signRepository, startRepository } from '../../../cli/release/releases.ts';
import { Repository } from '../../../cli/release/repository.ts';
import { rotate } from '../../../cli/release/rotation.ts';
import { VALIDITY, type Validity } from '../../../cli/release/signing.ts';
import {
  DEFAULT_CHANNEL,
  releaseTarget,
  type Architecture,
  type ReleaseDescription,
  type ReleaseFileName,
} from '../../../transport/protocol/releases.ts';
import { PROTOCOL_VERSION } from '../../../transport/protocol/version.ts';

/** What a release is to hold: files as texts, or as files that are there. */
export interface ReleaseContent {
  readonly version: string;
  readonly arch?: Architecture;
  /** Text, or `{path}` of a file. Default: three small files that name the version. */
  readonly files?: Partial<Record<ReleaseFileName, string | Uint8Array | { readonly path: string }>>;
  readonly journalSchema?: number;
}

/** A repository that can be changed and signed again. */
export interface ReleaseFixture {
  readonly repository: Repository;
  /** `metadata/` and `targets/` are in here. */
  readonly directory: string;
  readonly keys: readonly SigningKey[];
  /** The first root, which machines get when they are installed. */
  readonly root: string;
  /** Adds a version and signs. */
  add(content: ReleaseContent): Promise<ReleaseDescription>;
  /** Has a channel (default: stable) point to a version, and signs. */
  promote(version: string, options?: { readonly channel?: string; readonly allowDowngrade?: boolean }): Promise<void>;
  /** Signs again, as if it were so late, and for so long. */
  sign(options?: SigningOptions): Promise<void>;
  /** Signs the timestamp alone. */
  refresh(options?: SigningOptions): void;
  /** A copy of all metadata and targets, to be replayed later by `restore`. */
  snapshot(): string;
  /** Puts an older copy in place: a replay. */
  restore(copy: string): void;
}

/** When, in Unix ms, and for how many days. Default: now, and the defaults of the program. */
export interface SigningOptions {
  readonly nowMs?: number;
  readonly validity?: Partial<Validity>;
}

/** How the repository starts. */
export interface RepositoryOptions extends SigningOptions {
  /** Default: 1 of 1. */
  readonly rootKeys?: number;
  readonly threshold?: number;
}

/** Makes keys and a signed repository without a release in a directory of the test. */
export async function createReleases(directory: string, options: RepositoryOptions = {}): Promise<ReleaseFixture> {
  const keysIn = join(directory, 'keys');
  makeKeys(keysIn, { rootKeys: options.rootKeys ?? 1, passphrase: null });
  const keys = await readKeys(keysIn, () => Promise.reject(new Error('no passphrase')));
  const repository = new Repository(join(directory, 'repository'));
  const time = ({ nowMs = Date.now(), validity }: SigningOptions = {}) => ({
    nowMs,
    validity: { ...VALIDITY, ...validity },
  });
  startRepository(repository, keys, options.threshold ?? 1, time(options));
  const sign = (when?: SigningOptions) => signRepository(repository, keys, time(when));
  await sign(options);
  let copies = 0;
  return {
    repository,
    directory: repository.directory,
    keys,
    root: repository.roots()[0] ?? '',
    async add(content) {
      const description = await addRelease(repository, directory, content);
      await sign(options);
      return description;
    },
    async promote(version, { channel = DEFAULT_CHANNEL, allowDowngrade = false } = {}) {
      promote(repository, { version, channel, allowDowngrade });
      await sign(options);
    },
    sign,
    refresh: (when) => refreshRepository(repository, keys, time(when)),
    snapshot() {
      copies += 1;
      const copy = join(directory, `copy-${copies}`);
      cpSync(repository.directory, copy, { recursive: true });
      return copy;
    },
    restore: (copy) => cpSync(copy, repository.directory, { recursive: true, force: true }),
  };
}

/** Adds a release to a repository, unsigned. */
export async function addRelease(
  repository: Repository,
  directory: string,
  { version, arch = 'linux-x64', files = defaultFiles(version), journalSchema = 1 }: ReleaseContent,
): Promise<ReleaseDescription> {
  const packed = [];
  for (const [name, content] of Object.entries(files)) {
    let path = join(directory, 'unpacked', version, arch, name);
    if (typeof content === 'object' && 'path' in content) ({ path } = content);
    else {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
    }
    packed.push(await packFile(repository, name as ReleaseFileName, path));
  }
  const description: ReleaseDescription = {
    version,
    released_at: new Date().toISOString(),
    arch,
    journal_schema: journalSchema,
    protocol: PROTOCOL_VERSION,
    files: packed,
  };
  repository.writeDescription(releaseTarget(version, arch), description);
  return description;
}

function defaultFiles(version: string) {
  return {
    node: `a runtime\n`,
    'edge-agent.cjs': `// the agent ${version}\n`,
    'edge-updater.cjs': `// the updater ${version}\n`,
  };
}

/** Metadata that somebody changed without the keys: one word of the signed part is another one. */
export function forge(
  repository: Repository,
  file: 'timestamp.json' | `${number}.${'snapshot' | 'targets' | 'root'}.json`,
): void {
  const path = join(repository.directory, 'metadata', file);
  const json = JSON.parse(readFileSync(path, 'utf8')) as { readonly signed: Record<string, unknown> };
  writeFileSync(path, JSON.stringify({ ...json, signed: { ...json.signed, expires: '2099-01-01T00:00:00Z' } }));
}

/** Retires a key and signs the next root. */
export async function rotateKey({ repository, directory }: ReleaseFixture, key: string): Promise<void> {
  const keys = join(directory, '..', 'keys');
  const rotation = { directory: keys, retire: [key], threshold: null, newPassphrase: null };
  const time = { nowMs: Date.now(), validity: VALIDITY };
  await rotate(repository, { ...rotation, passphrase: () => Promise.resolve('') }, time);
}
