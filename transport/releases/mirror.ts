/**
 * Releases that an admin holds for its agents. It is a mirror: it checks what it is given, so that mistakes show where
 * they are made, and serves it as it was signed. It can hold back, and never forge: machines check everything again.
 */
import { createHash, hash } from 'node:crypto';
import type { BroughtFile, Releases } from '../../api/release-ports.ts';
import { instant } from '../../actors/resources/instant.ts';
import type { ReleasesResource } from '../../actors/resources/release.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import {
  fileTarget,
  RELEASE_CHUNK_BYTES,
  RELEASE_DESCRIPTION_BYTES_MAX,
  RELEASE_FILE_BYTES_MAX,
  ReleaseDescription,
  targetOf,
} from '../protocol/releases.ts';
import { Downloads } from './downloads.ts';
import type { FilePiece, PublishedState, ReleaseRows } from './ports.ts';
import { Distrusted } from './repository/metadata.ts';
import { believe, readTrusted, type Believed, type TargetEntry, type Trusted } from './repository/trust.ts';

/** Paths that a refusal names. */
const NAMED_MAX = 5;

/** The settings, under their names. */
export interface MirrorSettings {
  readonly RELEASES_BYTES_MAX: number;
  readonly RELEASE_DOWNLOAD_BYTES_PER_SECOND: number;
}

/** Releases over these rows. */
export function createMirror(settings: MirrorSettings, rows: ReleaseRows, monotonicMs: () => number): Releases {
  const bytesMax = settings.RELEASES_BYTES_MAX;
  const read = remembering(readTrusted);
  const list = async () => listed(await rows.published(), rows, bytesMax, read);
  const downloads = new Downloads(rows, settings.RELEASE_DOWNLOAD_BYTES_PER_SECOND, monotonicMs);
  return {
    find: (path) => downloads.find(path),
    enter: (source) => downloads.enter(source),
    get counters() {
      return downloads.counters;
    },
    list,
    leftMs: () => rows.leftMs(),
    async publish(texts) {
      try {
        // Files never change under their hash, so what they say can be read before the transaction.
        const { targets } = believe(texts, (await rows.published())?.trusted ?? null, 0);
        const problem = await incoherence(targets, rows);
        if (problem !== null) return invalid('metadata', problem);
        const { missing } = await rows.publish(texts, (trusted, nowMs) => believe(texts, trusted, nowMs));
        return missing.length > 0 ? missingFiles(missing) : ok(await list());
      } catch (error) {
        if (!(error instanceof Distrusted)) throw error;
        return invalid('metadata', error.message);
      }
    },
    remove: (version) => remove(version, rows, read),
    brought: async (sha256) => rows.file(sha256),
    bring: (piece) => bring(piece, rows, bytesMax),
  };
}

function missingFiles(missing: readonly string[]): Result<never> {
  const more = missing.length > NAMED_MAX ? ` and ${missing.length - NAMED_MAX} more` : '';
  return refuse(
    'conflict',
    `Files that the metadata names are not here: ${missing.slice(0, NAMED_MAX).join(', ')}${more}. Bring them first.`,
  );
}

type Reading = (trusted: Trusted) => Believed;

/** The same, with the answer kept for the texts that were read last: whoever needs no key may have them read. */
function remembering(read: Reading): Reading {
  let last: { readonly of: string; readonly answer: Believed } | null = null;
  return (trusted) => {
    const { root, timestamp, snapshot, targets } = trusted;
    const of = [root, timestamp, snapshot, targets].map((text) => hash('sha256', text)).join(' ');
    if (last?.of !== of) last = { of, answer: read(trusted) };
    return last.answer;
  };
}

/** What the metadata says, with what the descriptions say that it names. */
async function listed(
  state: PublishedState | null,
  rows: ReleaseRows,
  bytesMax: number,
  read: Reading,
): Promise<ReleasesResource> {
  if (state === null)
    return {
      metadata: null,
      expires_at: null,
      expires_first: null,
      channels: [],
      releases: [],
      stored_bytes: 0,
      stored_bytes_max: bytesMax,
    };
  const { versions, expiresAtMs, expiresFirst } = read(state.trusted);
  const described = await descriptions(state.targets, rows);
  const isHere = new Map(state.targets.map(({ path, isHere }) => [path, isHere]));
  return {
    metadata: { ...versions },
    expires_at: instant(expiresAtMs),
    expires_first: expiresFirst,
    channels: described.flatMap(({ target, description: { version, arch, allow_downgrade: back } }) =>
      target.kind === 'channel' ? [{ channel: target.channel, arch, version, allow_downgrade: back === true }] : [],
    ),
    releases: described.flatMap(({ target, description: { version, arch, released_at: at, files } }) =>
      target.kind === 'release'
        ? [
            {
              version,
              arch,
              released_at: at,
              bytes: files.reduce((sum, { packed_bytes: bytes }) => sum + bytes, 0),
              is_stored: files.every(({ sha256 }) => isHere.get(fileTarget(sha256)) === true),
            },
          ]
        : [],
    ),
    stored_bytes: state.storedBytes,
    stored_bytes_max: bytesMax,
  };
}

interface Described {
  readonly target: Exclude<NonNullable<ReturnType<typeof targetOf>>, { readonly kind: 'file' }>;
  readonly path: string;
  readonly description: ReleaseDescription;
}

/** Descriptions that are here. One that is none is left out: `incoherence` says so when it is published. */
async function descriptions(targets: readonly TargetEntry[], rows: ReleaseRows): Promise<readonly Described[]> {
  const named = describing(targets);
  const texts = await rows.texts(named.map(({ sha256 }) => sha256));
  return named.flatMap(({ target, path, sha256 }) => {
    const text = texts.get(sha256);
    const description = text === undefined ? null : descriptionIn(text);
    return description === null ? [] : [{ target, path, description }];
  });
}

/** The targets that describe releases. The others are programs, and far too large to be read for it. */
function describing(targets: readonly TargetEntry[]) {
  return targets.flatMap((entry) => {
    const target = targetOf(entry.path);
    return target === null || target.kind === 'file' ? [] : [{ ...entry, target }];
  });
}

function descriptionIn(text: string): ReleaseDescription | null {
  try {
    return ReleaseDescription.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Why signed metadata is of no use to machines; null: it is. Descriptions that are not here yet are not looked at. */
async function incoherence(targets: readonly TargetEntry[], rows: ReleaseRows): Promise<string | null> {
  const entries = new Map(targets.map((entry) => [entry.path, entry]));
  const named = describing(targets);
  const large = named.find(({ bytes }) => bytes > RELEASE_DESCRIPTION_BYTES_MAX);
  if (large !== undefined)
    return `${large.path} has ${large.bytes} bytes, and machines read ${RELEASE_DESCRIPTION_BYTES_MAX} of a description`;
  const texts = await rows.texts(named.map(({ sha256 }) => sha256));
  for (const { path, sha256, target } of named) {
    const text = texts.get(sha256);
    if (text === undefined) continue;
    const description = descriptionIn(text);
    if (description === null) return `${path} describes no release`;
    if (description.arch !== target.arch) return `${path} describes a release for ${description.arch}`;
    if (target.kind === 'release' && description.version !== target.version)
      return `${path} describes the version ${description.version}`;
    for (const file of description.files) {
      const entry = entries.get(fileTarget(file.sha256));
      if (entry?.sha256 !== file.packed_sha256 || entry.bytes !== file.packed_bytes)
        return `${path} names ${fileTarget(file.sha256)}, which the metadata does not name, or as another file`;
    }
  }
  return null;
}

async function remove(version: string, rows: ReleaseRows, read: Reading): Promise<Result<null>> {
  const state = await rows.published();
  if (state === null) return refuse('not_found', 'Resource not found');
  const described = await descriptions(state.targets, rows);
  const isOf = ({ description }: Described) => description.version === version;
  const gone = described.filter((one) => one.target.kind === 'release' && isOf(one));
  if (gone.length === 0) return refuse('not_found', 'Resource not found');
  const pointing = described.find((one) => one.target.kind === 'channel' && isOf(one));
  if (pointing?.target.kind === 'channel')
    return refuse(
      'conflict',
      `The channel ${pointing.target.channel} points to ${version}: promote another one first.`,
    );
  const filesOf = (some: readonly Described[]) =>
    some.flatMap(({ description }) => description.files.map(({ packed_sha256: sha256 }) => sha256));
  const kept = new Set(filesOf(described.filter((one) => !isOf(one))));
  const isRemoved = await rows.withdraw(
    filesOf(gone).filter((sha256) => !kept.has(sha256)),
    read(state.trusted).versions.timestamp,
  );
  return isRemoved
    ? ok(null)
    : refuse('conflict', 'Releases were published meanwhile: a channel may point to this one now. Try again.');
}

async function bring(piece: FilePiece, rows: ReleaseRows, bytesMax: number): Promise<Result<BroughtFile>> {
  const { bytes, offset, content } = piece;
  if (bytes > RELEASE_FILE_BYTES_MAX)
    return refuse('payload_too_large', `A file of a release may have ${RELEASE_FILE_BYTES_MAX} bytes.`);
  const end = offset + content.length;
  if (end > bytes) return invalid('body', `goes beyond the ${bytes} bytes of the file`);
  if (offset % RELEASE_CHUNK_BYTES !== 0) return invalid('offset', `must be a multiple of ${RELEASE_CHUNK_BYTES}`);
  if (end !== bytes && content.length % RELEASE_CHUNK_BYTES !== 0)
    return invalid('body', `must be a multiple of ${RELEASE_CHUNK_BYTES} bytes, but for the last piece`);
  const known = await rows.file(piece.sha256);
  if (known?.isComplete === true && known.bytes === bytes) return ok(known);
  // Its pieces are all here, and whoever brought them was gone before they were checked.
  if (known !== null && known.received === known.bytes) return checked(piece.sha256, known.bytes, rows);
  if (content.length === 0) return invalid('body', 'must not be empty');
  const outcome = await rows.append(piece, bytesMax);
  switch (outcome.type) {
    case 'full':
      return refuse(
        'payload_too_large',
        `All files of releases would have more than RELEASES_BYTES_MAX (${bytesMax} bytes): delete a release, or raise it.`,
      );
    case 'other_size':
      return refuse('conflict', `This file was begun with ${outcome.file.bytes} bytes.`);
    case 'misplaced':
      return refuse('conflict', `The next piece of this file begins at ${outcome.file.received}.`);
    case 'stored':
      return end === bytes ? checked(piece.sha256, bytes, rows) : ok(outcome.file);
    default:
      return outcome satisfies never;
  }
}

/** Reads the whole file once more, as it lies in the rows: only then it is served. */
async function checked(sha256: string, bytes: number, rows: ReleaseRows): Promise<Result<BroughtFile>> {
  const hash = createHash('sha256');
  for (let index = 0; index * RELEASE_CHUNK_BYTES < bytes; index += 1) {
    const content = await rows.chunk(sha256, index);
    if (content === null) break;
    hash.update(content);
  }
  if (hash.digest('hex') === sha256) {
    await rows.complete(sha256);
    return ok({ bytes, received: bytes, isComplete: true });
  }
  await rows.remove([sha256]);
  return refuse('validation_failed', 'Validation failed', {
    body: ['is not the file of this SHA-256: bring it again'],
  });
}

function invalid(field: string, problem: string): Result<never> {
  return refuse('validation_failed', 'Validation failed', { [field]: [problem] });
}
