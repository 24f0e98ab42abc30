/**
 * Metadata of a repository of releases, made and signed: versions rise by one, and what did not change is not signed
 * again. Pure but for the keys; `nowMs` is Unix time in ms.
 */
import { createHash } from 'node:crypto';
import {
  Metadata,
  MetadataKind,
  MetaFile,
  Root,
  Snapshot,
  TargetFile,
  Targets,
  Timestamp,
  type Key,
} from '@tufjs/models';
import { metadataProblem } from '../../transport/releases/repository/metadata.ts';
import type { TargetEntry, Trusted } from '../../transport/releases/repository/trust.ts';
import { Problem } from '../problem.ts';
import type { KeyRole, SigningKey } from './keys.ts';

/** Of TUF. Source: https://theupdateframework.github.io/specification/v1.0.31/. */
const SPEC_VERSION = '1.0.31';

const DAY_MS = 86_400_000;

/** Days for which metadata holds. A machine that is offered older one refuses it. */
export interface Validity {
  readonly rootDays: number;
  readonly targetsDays: number;
  readonly timestampDays: number;
}

/**
 * The keys of roots are brought together once a year, releases come more often than each 90 days, and a mirror that
 * holds releases back is noticed after 30 days.
 */
export const VALIDITY: Validity = { rootDays: 365, targetsDays: 90, timestampDays: 30 };

/** When and for how long. */
export interface SigningTime {
  readonly nowMs: number;
  readonly validity: Validity;
}

/** The keys for each role that a root names, and how many root keys must sign. */
export interface RootPlan {
  readonly root: readonly Key[];
  readonly release: readonly Key[];
  readonly timestamp: readonly Key[];
  readonly threshold: number;
}

/**
 * The next root, signed by these keys and, when there is one before, by as many of its own as it asks for. Throws a
 * Problem that says which are missing, and for a root that no machine reads. `before`: null for the first.
 */
export function signRoot(
  before: string | null,
  plan: RootPlan,
  keys: readonly SigningKey[],
  time: SigningTime,
): string {
  const last = before === null ? null : Metadata.fromJSON(MetadataKind.Root, JSON.parse(before));
  const { root: roots, release, timestamp, threshold } = plan;
  const root = Root.fromJSON({
    spec_version: SPEC_VERSION,
    version: (last?.signed.version ?? 0) + 1,
    expires: expiry(time.nowMs, time.validity.rootDays),
    consistent_snapshot: true,
    keys: Object.fromEntries([...roots, ...release, ...timestamp].map((key) => [key.keyID, key.toJSON()])),
    roles: {
      root: roleOf(roots, threshold),
      targets: roleOf(release, 1),
      snapshot: roleOf(release, 1),
      timestamp: roleOf(timestamp, 1),
    },
  });
  const metadata = new Metadata(root);
  for (const key of keys.filter(({ role }) => role === 'root')) metadata.sign((bytes) => key.sign(bytes));
  const problem = metadataProblem(metadata.toJSON());
  if (problem !== null) throw new Problem(`machines would not take the new root: it ${problem}`);
  mustVerify(metadata, metadata, 'the new root');
  if (last !== null) mustVerify(last, metadata, 'the root before it');
  return textOf(metadata);
}

function roleOf(keys: readonly Key[], threshold: number) {
  return { keyids: keys.map(({ keyID }) => keyID), threshold };
}

function mustVerify(by: Metadata<Root>, of: Metadata<Root>, whose: string): void {
  try {
    by.verifyDelegate(MetadataKind.Root, of);
  } catch {
    const role = by.signed.roles[MetadataKind.Root];
    throw new Problem(
      `a root must be signed by ${role?.threshold ?? 1} of the ${role?.keyIDs.length ?? 1} root keys of ${whose}, and fewer are in the directory of keys`,
    );
  }
}

/** What a repository has: the last root, and the rest once it was signed. */
export interface SignedState extends Pick<Trusted, 'root'> {
  readonly timestamp: string | null;
  readonly snapshot: string | null;
  readonly targets: string | null;
}

/** The three files that are signed for each change. */
export type SignedTexts = Readonly<Record<'timestamp' | 'snapshot' | 'targets', string>>;

/** Signs targets, snapshot and timestamp anew. Throws a Problem where a key is missing. */
export function signTargets(
  state: SignedState,
  entries: readonly TargetEntry[],
  keys: readonly SigningKey[],
  time: SigningTime,
): SignedTexts {
  const targets = new Targets({ ...common(state.targets, time, time.validity.targetsDays), targets: {} });
  for (const { path, sha256, bytes } of entries.toSorted((a, b) => (a.path < b.path ? -1 : 1)))
    targets.addTarget(new TargetFile({ path, length: bytes, hashes: { sha256 } }));
  const targetsText = signed(state, 'release', MetadataKind.Targets, new Metadata(targets), keys);
  const snapshot = new Snapshot({
    ...common(state.snapshot, time, time.validity.targetsDays),
    meta: { 'targets.json': metaFile(targets.version, targetsText) },
  });
  const snapshotText = signed(state, 'release', MetadataKind.Snapshot, new Metadata(snapshot), keys);
  const timestamp = signTimestamp({ ...state, snapshot: snapshotText }, keys, time);
  return { targets: targetsText, snapshot: snapshotText, timestamp };
}

/** Signs the timestamp anew: all is as it was, and goes on to hold. Throws a Problem where the key is missing. */
export function signTimestamp(state: SignedState, keys: readonly SigningKey[], time: SigningTime): string {
  if (state.snapshot === null) throw new Problem('nothing is signed yet: edge release sign does that first');
  const timestamp = new Timestamp({
    ...common(state.timestamp, time, time.validity.timestampDays),
    snapshotMeta: metaFile(versionIn(state.snapshot), state.snapshot),
  });
  return signed(state, 'timestamp', MetadataKind.Timestamp, new Metadata(timestamp), keys);
}

function signed(
  { root }: SignedState,
  role: KeyRole,
  kind: MetadataKind,
  metadata: Metadata<Targets> | Metadata<Snapshot> | Metadata<Timestamp>,
  keys: readonly SigningKey[],
): string {
  const named = Metadata.fromJSON(MetadataKind.Root, JSON.parse(root)).signed.roles[kind]?.keyIDs ?? [];
  const key = keys.find((one) => named.includes(one.key.keyID));
  if (key === undefined)
    throw new Problem(
      `none of the keys that were given may sign ${kind}.json: the root names the ${role} key with the id ${named.map((id) => id.slice(0, 8)).join(', ')}`,
    );
  metadata.sign((bytes) => key.sign(bytes));
  return textOf(metadata);
}

function common(before: string | null, { nowMs }: SigningTime, days: number) {
  return {
    version: before === null ? 1 : versionIn(before) + 1,
    specVersion: SPEC_VERSION,
    expires: expiry(nowMs, days),
  };
}

/** Whole seconds: other implementations of TUF take no others. */
function expiry(nowMs: number, days: number): string {
  return new Date(nowMs + days * DAY_MS).toISOString().replace(/\.\d{3}Z$/u, 'Z');
}

function metaFile(version: number, text: string): MetaFile {
  const bytes = Buffer.from(text);
  return new MetaFile({
    version,
    length: bytes.length,
    hashes: { sha256: createHash('sha256').update(bytes).digest('hex') },
  });
}

/** The version that a metadata file has. */
export function versionIn(text: string): number {
  return (JSON.parse(text) as { readonly signed: { readonly version: number } }).signed.version;
}

/** As it is written: without spaces, so that every byte of it means something. */
function textOf(metadata: { toJSON(): unknown }): string {
  return `${JSON.stringify(metadata.toJSON())}\n`;
}
