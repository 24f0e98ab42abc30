/** Metadata of a size that no repository has: as a mirror, or whoever has an API key, may send it. */
import { hash } from 'node:crypto';
import type { TargetEntry } from '../../../transport/releases/repository/trust.ts';

/** As much as is taken of one file, nearly. */
const BYTES = 1_000_000;

/** Members for an object, so many that its JSON has about a megabyte. */
export function manyMembers(member: object): Record<string, object> {
  const count = Math.floor(BYTES / (JSON.stringify(member).length + 9));
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index.toString(36)}`, member]));
}

/** Metadata with something else in its signed part. */
export function withSigned(text: string, change: object): string {
  const json = JSON.parse(text) as { readonly signed: object };
  return JSON.stringify({ ...json, signed: { ...json.signed, ...change } });
}

/** A root that names so many keys that its JSON has about a megabyte. Nobody signed it. */
export function rootOfManyKeys(version: number): string {
  const keys = manyMembers({ keytype: '', scheme: '', keyval: {} });
  const signed = { _type: 'root', spec_version: '1.0', version, expires: '2030-01-01T00:00:00Z', keys, roles: {} };
  return JSON.stringify({ signatures: [], signed: { ...signed, consistent_snapshot: true } });
}

/** Files to sign. */
export function manyTargets(count: number): readonly TargetEntry[] {
  return Array.from({ length: count }, (_, index) => {
    const sha256 = hash('sha256', `${index}`);
    return { path: `files/${sha256}.gz`, sha256, bytes: 1 };
  });
}
