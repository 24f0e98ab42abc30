/**
 * Whether metadata of a TUF repository may be believed: the steps of a client (specification 5.3 to 5.6) on texts that
 * are here already, by the caller's clock. Pure. Machines do the same with tuf-js, which downloads as it goes.
 */
import { MetadataKind, type Metadata, type Root, type Snapshot, type Targets, type Timestamp } from '@tufjs/models';
import { RELEASE_FILE_BYTES_MAX, Sha256Hex, targetOf } from '../../protocol/releases.ts';
import { Distrusted, readMetadata, type MetadataOf } from './metadata.ts';

/** The metadata files of a repository, as texts. Roots in ascending order, without gaps. */
export interface MetadataTexts {
  readonly roots: readonly string[];
  readonly timestamp: string;
  readonly snapshot: string;
  readonly targets: string;
}

/** What was believed before; null: nothing yet, so that the first root is taken as it is. */
export interface Trusted {
  /** The last root that was believed. */
  readonly root: string;
  readonly timestamp: string;
  readonly snapshot: string;
  readonly targets: string;
}

/** One target, as the metadata has it. */
export interface TargetEntry {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** What the metadata says, once it is believed. */
export interface Believed {
  readonly versions: Readonly<Record<'root' | 'timestamp' | 'snapshot' | 'targets', number>>;
  /** When the first of the four ends, as Unix ms, and which it is. */
  readonly expiresAtMs: number;
  readonly expiresFirst: 'root' | 'timestamp' | 'snapshot' | 'targets';
  readonly targets: readonly TargetEntry[];
}

/** The highest version: files with longer numbers in their names are not served. */
export const VERSION_MAX = 999_999_999;

/** Times, as TUF writes them (4.2.1): what else JavaScript takes for one the database may not. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/u;

/**
 * Checks new metadata against what is trusted. Throws Distrusted for a wrong signature, a version that does not rise
 * (a replay), metadata that is out of date at `nowMs` (Unix ms), parts that do not belong together, and a root that
 * the trusted one did not sign. The same metadata again is believed again.
 */
export function believe(texts: MetadataTexts, trusted: Trusted | null, nowMs: number): Believed {
  const root = lastRoot(texts.roots, trusted?.root ?? null);
  const { timestamp, snapshot, targets } = signedBy(root, texts);
  belongs('snapshot.json', timestamp.snapshotMeta, snapshot.version, texts.snapshot);
  const meta = snapshot.meta['targets.json'];
  if (meta === undefined) throw new Distrusted('snapshot.json does not name targets.json');
  belongs('targets.json', meta, targets.version, texts.targets);
  if (trusted !== null) refuseOlder({ timestamp, snapshot, targets }, texts, trusted);
  const expiries = { root: root.signed, timestamp, snapshot, targets };
  for (const [name, { expires }] of Object.entries(expiries))
    if (Date.parse(expires) <= nowMs)
      throw new Distrusted(`${name}.json is out of date since ${expires}: sign it again`);
  return { ...told(expiries), targets: entriesOf(targets) };
}

/** The same of metadata whose time may be over: what it says, for whoever shows or renews it. */
export function readTrusted({ root, timestamp, snapshot, targets }: Trusted): Believed {
  return believe({ roots: [root], timestamp, snapshot, targets }, null, 0);
}

type Role = 'root' | 'timestamp' | 'snapshot' | 'targets';

function told(signed: Readonly<Record<Role, { readonly version: number; readonly expires: string }>>) {
  const roles = ['root', 'timestamp', 'snapshot', 'targets'] as const;
  const [first] = roles.toSorted((a, b) => Date.parse(signed[a].expires) - Date.parse(signed[b].expires));
  const { root, timestamp, snapshot, targets } = signed;
  return {
    versions: {
      root: root.version,
      timestamp: timestamp.version,
      snapshot: snapshot.version,
      targets: targets.version,
    },
    expiresAtMs: Date.parse(signed[first ?? 'timestamp'].expires),
    expiresFirst: first ?? 'timestamp',
  };
}

/** The last of a chain of roots, each signed by the one before and by itself. */
function lastRoot(roots: readonly string[], trusted: string | null): Metadata<Root> {
  const chain = roots.map(rootIn);
  const [first] = chain;
  if (first === undefined) throw new Distrusted('there is no root.json');
  let last = trusted === null ? first : rootIn(trusted);
  for (const [index, next] of chain.entries()) {
    const { version } = next.signed;
    if (version < last.signed.version) continue;
    if (version === last.signed.version) {
      if (trusted !== null && roots[index] !== trusted)
        throw new Distrusted(`${version}.root.json is another one than the root that is trusted here`);
      continue;
    }
    if (version !== last.signed.version + 1)
      throw new Distrusted(`${last.signed.version + 1}.root.json is missing: roots follow each other without a gap`);
    verified(`${version}.root.json is not signed by the keys of the root before it`, () =>
      last.verifyDelegate(MetadataKind.Root, next),
    );
    last = next;
  }
  const newest = chain.at(-1)?.signed.version ?? 0;
  if (newest < last.signed.version)
    throw new Distrusted(`root.json is version ${newest}, and version ${last.signed.version} is trusted here already`);
  return last;
}

/** A root that its own keys signed. */
function rootIn(text: string): Metadata<Root> {
  const metadata = parsed(MetadataKind.Root, text);
  verified(`${metadata.signed.version}.root.json is not signed by its own keys`, () =>
    metadata.verifyDelegate(MetadataKind.Root, metadata),
  );
  return metadata;
}

/** What the keys of a root signed. */
interface Signed {
  readonly timestamp: Timestamp;
  readonly snapshot: Snapshot;
  readonly targets: Targets;
}

function signedBy(root: Metadata<Root>, texts: MetadataTexts): Signed {
  const timestamp = parsed(MetadataKind.Timestamp, texts.timestamp);
  const snapshot = parsed(MetadataKind.Snapshot, texts.snapshot);
  const targets = parsed(MetadataKind.Targets, texts.targets);
  for (const metadata of [timestamp, snapshot, targets])
    verified(`${metadata.signed.type}.json is not signed by the keys that the root names for it`, () =>
      root.verifyDelegate(metadata.signed.type, metadata),
    );
  return { timestamp: timestamp.signed, snapshot: snapshot.signed, targets: targets.signed };
}

/** Throws Distrusted with the reason when a step of the library throws. */
function verified(problem: string, step: () => void): void {
  try {
    step();
  } catch {
    throw new Distrusted(problem);
  }
}

function parsed<Kind extends MetadataKind>(kind: Kind, text: string): MetadataOf[Kind] {
  const name = `${kind}.json`;
  const metadata = readMetadata(kind, text);
  const { version, expires } = metadata.signed;
  if (!Number.isSafeInteger(version) || version < 1) throw new Distrusted(`${name} has no version above 0`);
  if (version > VERSION_MAX) throw new Distrusted(`${name} has a version above ${VERSION_MAX}`);
  if (!TIME.test(expires))
    throw new Distrusted(`${name} has an end that is no time like 2030-01-31T00:00:00Z: ${expires.slice(0, 64)}`);
  return metadata;
}

/** Length, hash and version of a file, as the one that names it says. */
function belongs(
  name: string,
  said: { readonly version: number; verify(data: Buffer): void },
  version: number,
  text: string,
): void {
  if (said.version !== version) throw new Distrusted(`${name} is version ${version}, and ${said.version} is named`);
  verified(`${name} is not the file that is named: its length or its hash is another`, () =>
    said.verify(Buffer.from(text)),
  );
}

function refuseOlder(next: Signed, texts: MetadataTexts, trusted: Trusted): void {
  for (const name of ['timestamp', 'snapshot', 'targets'] as const) {
    const { version } = next[name];
    const before = versionIn(trusted[name]);
    if (version < before)
      throw new Distrusted(`${name}.json is version ${version}, and version ${before} was published already`);
    if (version === before && texts[name] !== trusted[name])
      throw new Distrusted(`${name}.json is another version ${version} than the one that was published already`);
  }
}

function versionIn(text: string): number {
  const { signed } = JSON.parse(text) as { readonly signed: { readonly version: number } };
  return signed.version;
}

function entriesOf({ targets }: Targets): readonly TargetEntry[] {
  return Object.entries(targets).map(([path, { length: bytes, hashes }]) => {
    const { sha256 } = hashes;
    if (targetOf(path) === null)
      throw new Distrusted(`targets.json names ${path.slice(0, 200)}, which is no file of a release`);
    if (!Sha256Hex.safeParse(sha256).success || sha256 === undefined)
      throw new Distrusted(`targets.json has no SHA-256 of ${path}`);
    if (!Number.isSafeInteger(bytes) || bytes < 1 || bytes > RELEASE_FILE_BYTES_MAX)
      throw new Distrusted(`targets.json has no length of ${path}`);
    return { path, sha256, bytes };
  });
}
