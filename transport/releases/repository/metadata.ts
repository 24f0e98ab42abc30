/**
 * Metadata of a TUF repository before anybody has looked at a signature: anyone may have written it. The library takes
 * the square of what it is given, and for what is nested deeply too, so that its size is bounded first.
 */
import { Metadata, MetadataKind, type Root, type Snapshot, type Targets, type Timestamp } from '@tufjs/models';
import { RELEASE_TARGETS_MAX } from '../../protocol/releases.ts';
import { makeTargetsLinear } from './linear-targets.ts';

/**
 * Members of any object or list of metadata but the targets and the signatures: keys, keys of a role, roles, files that
 * are named, hashes of one file. A repository of ours has at most 16 root keys, four roles and one hash a file.
 */
export const METADATA_MEMBERS_MAX = 64;

/**
 * Signatures of one file. The library checks all of them, and makes the text that was signed anew for each: 40 roots
 * with 64 took five seconds. When all of 16 root keys are replaced, 32 sign.
 */
export const METADATA_SIGNATURES_MAX = 32;

/** Values of all kinds in one file, without those of targets: 64 keys in each of four roles are some 600. */
export const METADATA_VALUES_MAX = 1_024;

/** Values of one target, with itself: one that has a length and a hash has four. */
export const TARGET_VALUES_MAX = 16;

/** Objects and lists within each other: a key of a root is in the fifth. */
export const METADATA_DEPTH_MAX = 8;

/** Characters of one text or name. The longest of ours are signatures, 128; a key for RSA of 16,384 bits has 2,900. */
export const METADATA_TEXT_CHARS_MAX = 4_096;

type Json = Parameters<typeof Metadata.fromJSON>[1];

/** The metadata of each kind. */
export interface MetadataOf {
  readonly [MetadataKind.Root]: Metadata<Root>;
  readonly [MetadataKind.Timestamp]: Metadata<Timestamp>;
  readonly [MetadataKind.Snapshot]: Metadata<Snapshot>;
  readonly [MetadataKind.Targets]: Metadata<Targets>;
}

makeTargetsLinear();

/** Why metadata is not believed, in a sentence that names the file. */
export class Distrusted extends Error {
  override readonly name = 'Distrusted';
}

/** Reads metadata, whoever signed it. Throws Distrusted for what is none of this kind, and for what is too large. */
export function readMetadata<Kind extends MetadataKind>(kind: Kind, text: string): MetadataOf[Kind] {
  try {
    const json = JSON.parse(text) as Json;
    const problem = metadataProblem(json);
    if (problem !== null) throw new Distrusted(`${kind}.json ${problem}`);
    return Metadata.fromJSON(kind as MetadataKind.Root, json) as MetadataOf[MetadataKind] as MetadataOf[Kind];
  } catch (error) {
    if (error instanceof Distrusted) throw error;
    throw new Distrusted(`${kind}.json is no metadata of this kind: ${error instanceof Error ? error.message : ''}`);
  }
}

/**
 * Why nobody should read what this JSON says, as the end of a sentence that begins with its name; null: it is small
 * enough. Takes time with its size alone.
 */
export function metadataProblem(json: unknown): string | null {
  const { signed } = (json ?? {}) as { readonly signed?: { readonly _type?: unknown } | null };
  const { _type: type } = signed ?? {};
  const targets = type === MetadataKind.Targets ? 'signed.targets' : null; // the library refuses other kinds
  return problemOf(json, [], { values: METADATA_VALUES_MAX, targets });
}

/** How many more values there may be. */
interface Room {
  values: number;
  /** Where the targets are, each of which has room of its own; null: what this is has none. */
  readonly targets: string | null;
}

function problemOf(value: unknown, path: readonly string[], room: Room): string | null {
  room.values -= 1;
  if (room.values < 0)
    return `has more than ${METADATA_VALUES_MAX} values, or more than ${TARGET_VALUES_MAX} of one target`;
  if (typeof value === 'string') return lengthProblem(value);
  if (typeof value !== 'object' || value === null) return null;
  if (path.length >= METADATA_DEPTH_MAX) return `is nested deeper than ${METADATA_DEPTH_MAX} levels`;
  const place = path.join('.');
  const membersMax = membersMaxAt(place, room);
  const isTargets = place === room.targets;
  const members = Object.entries(value);
  if (members.length > membersMax)
    return `has ${members.length} ${path.at(-1) ?? 'members'}, and at most ${membersMax} are read`;
  for (const [name, member] of members) {
    const problem =
      lengthProblem(name) ??
      problemOf(member, [...path, name], isTargets ? { values: TARGET_VALUES_MAX, targets: null } : room);
    if (problem !== null) return problem;
  }
  return null;
}

function membersMaxAt(place: string, { targets }: Room): number {
  if (place === targets) return RELEASE_TARGETS_MAX;
  return place === 'signatures' ? METADATA_SIGNATURES_MAX : METADATA_MEMBERS_MAX;
}

function lengthProblem(text: string): string | null {
  return text.length > METADATA_TEXT_CHARS_MAX
    ? `has a text of ${text.length} characters, and at most ${METADATA_TEXT_CHARS_MAX} are read`
    : null;
}
