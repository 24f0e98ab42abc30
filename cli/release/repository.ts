/**
 * A repository of releases in a directory, as any web server could serve it: `metadata/` and `targets/`. Whoever has
 * the directory has everything but the keys.
 */
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  fileTarget,
  ReleaseDescription,
  RELEASE_DESCRIPTION_BYTES_MAX,
  targetOf,
  type Architecture,
} from '../../transport/protocol/releases.ts';
import { Distrusted } from '../../transport/releases/repository/metadata.ts';
import {
  readTrusted,
  type Believed,
  type MetadataTexts,
  type TargetEntry,
} from '../../transport/releases/repository/trust.ts';
import { EXIT, Problem } from '../problem.ts';
import { versionIn, type SignedState, type SignedTexts } from './signing.ts';

/** A description with the target that it is. */
export interface Described {
  readonly path: string;
  readonly arch: Architecture;
  /** The version of a release, or the name of a channel. */
  readonly name: string;
  readonly description: ReleaseDescription;
}

/** What a directory holds. */
export class Repository {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** All roots, the first one first. */
  roots(): readonly string[] {
    const roots: string[] = [];
    for (;;) {
      const text = this.#read(`metadata/${roots.length + 1}.root.json`);
      if (text === null) return roots;
      roots.push(text);
    }
  }

  /** What is signed. Throws a Problem where there is no root. */
  state(): SignedState {
    const root = this.roots().at(-1);
    if (root === undefined)
      throw new Problem(
        `${this.directory} is no repository of releases: edge release keygen begins one, and --dir names another`,
        EXIT.notFound,
      );
    const timestamp = this.#read('metadata/timestamp.json');
    const snapshot = timestamp === null ? null : this.#named(timestamp, 'snapshot');
    const targets = snapshot === null ? null : this.#named(snapshot, 'targets');
    return { root, timestamp, snapshot, targets };
  }

  /** All metadata. Throws a Problem where something is not signed yet. */
  metadata(): MetadataTexts {
    const { timestamp, snapshot, targets } = this.state();
    if (timestamp === null || snapshot === null || targets === null)
      throw new Problem(`the releases in ${this.directory} are not signed: edge release sign does that`);
    return { roots: this.roots(), timestamp, snapshot, targets };
  }

  /** What the signed metadata says; null before the first signature. Throws a Problem where nobody would take it. */
  signed(): Believed | null {
    const { root, timestamp, snapshot, targets } = this.state();
    if (timestamp === null || snapshot === null || targets === null) return null;
    try {
      return readTrusted({ root, timestamp, snapshot, targets });
    } catch (error) {
      throw error instanceof Distrusted
        ? new Problem(`${this.directory}: ${error.message} (edge release sign signs what is there)`)
        : error;
    }
  }

  /** What the signed targets are; none before the first signature. Throws as `signed`. */
  signedTargets(): readonly TargetEntry[] {
    return this.signed()?.targets ?? [];
  }

  /** Adds a root. */
  writeRoot(text: string): void {
    this.#write(`metadata/${versionIn(text)}.root.json`, text);
  }

  /** Puts signed metadata in place, the timestamp last: it is what names the rest. */
  writeSigned({ targets, snapshot, timestamp }: Partial<SignedTexts> & Pick<SignedTexts, 'timestamp'>): void {
    if (targets !== undefined) this.#write(`metadata/${versionIn(targets)}.targets.json`, targets);
    if (snapshot !== undefined) this.#write(`metadata/${versionIn(snapshot)}.snapshot.json`, snapshot);
    this.#write('metadata/timestamp.json', timestamp);
  }

  /** Releases and channels, by path. Throws a Problem for a description that is none. */
  described(kind: 'release' | 'channel'): readonly Described[] {
    return globSync(`${kind}s/*/*.json`, { cwd: join(this.directory, 'targets') })
      .toSorted()
      .flatMap((path) => {
        const target = targetOf(path);
        if (target === null || target.kind === 'file' || target.kind !== kind) return [];
        const name = target.kind === 'release' ? target.version : target.channel;
        return [{ path, arch: target.arch, name, description: this.describe(path) }];
      });
  }

  /** One description. */
  describe(path: string): ReleaseDescription {
    const file = this.pathOf(path);
    if (statSync(file).size > RELEASE_DESCRIPTION_BYTES_MAX) throw new Problem(`${file} is too large for a release`);
    let json: unknown;
    try {
      json = JSON.parse(readFileSync(file, 'utf8'));
    } catch {
      throw new Problem(`${file} is no JSON: build the release again`);
    }
    const read = ReleaseDescription.safeParse(json);
    if (!read.success)
      throw new Problem(`${file} describes no release (${read.error.issues[0]?.path.join('.') ?? ''}): build it again`);
    return read.data;
  }

  /** Writes a description: the same one is the same bytes. */
  writeDescription(path: string, description: ReleaseDescription): void {
    this.#write(`targets/${path}`, `${JSON.stringify(description)}\n`);
  }

  /** Where the file of a target is. */
  pathOf(target: string): string {
    return join(this.directory, 'targets', target);
  }

  /**
   * What is to be signed: every release, every channel, and the files that they name. Throws a Problem for a file that
   * is missing or is another one.
   */
  async targets(): Promise<readonly TargetEntry[]> {
    const described = [...this.described('release'), ...this.described('channel')];
    const entries = new Map<string, TargetEntry>();
    for (const { path } of described) entries.set(path, { path, ...(await hashOf(this.pathOf(path))) });
    for (const { path: of, description } of described)
      for (const { sha256, packed_sha256: packed, packed_bytes: bytes } of description.files) {
        const path = fileTarget(sha256);
        if (entries.has(path)) continue;
        if (!existsSync(this.pathOf(path)))
          throw new Problem(`${this.pathOf(path)} is missing, and ${of} names it: build it again`);
        const found = await hashOf(this.pathOf(path));
        if (found.sha256 !== packed || found.bytes !== bytes)
          throw new Problem(`${this.pathOf(path)} is not the file that ${of} names: build it again`);
        entries.set(path, { path, ...found });
      }
    return [...entries.values()];
  }

  #named(text: string, name: 'snapshot' | 'targets'): string | null {
    const { signed } = JSON.parse(text) as {
      readonly signed: { readonly meta: Record<string, { readonly version: number }> };
    };
    return this.#read(`metadata/${signed.meta[`${name}.json`]?.version ?? 0}.${name}.json`);
  }

  #read(path: string): string | null {
    try {
      return readFileSync(join(this.directory, path), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw new Problem(`${join(this.directory, path)} cannot be read: ${(error as Error).message}`);
    }
  }

  #write(path: string, text: string): void {
    const file = join(this.directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.part`, text, { flush: true });
    renameSync(`${file}.part`, file);
  }
}

/** SHA-256 and length of a file, which is read in pieces. */
export async function hashOf(path: string): Promise<Pick<TargetEntry, 'sha256' | 'bytes'>> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return { sha256: hash.digest('hex'), bytes: statSync(path).size };
}
