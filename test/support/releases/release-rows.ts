/** Releases in memory, for tests that are not about rows. */
import { RELEASE_CHUNK_BYTES } from '../../../transport/protocol/releases.ts';
import type { FileState, ReleaseRows } from '../../../transport/releases/ports.ts';
import type { Believed, MetadataTexts, Trusted } from '../../../transport/releases/repository/trust.ts';

/** Rows of an empty database. `nowMs`: what its clock says. */
export function memoryReleaseRows(nowMs: () => number = Date.now): ReleaseRows {
  const files = new Map<string, { state: FileState; chunks: Buffer[] }>();
  const storedBytes = () => [...files.values()].reduce((sum, { state }) => sum + state.bytes, 0);
  let published: { readonly texts: MetadataTexts; readonly believed: Believed } | null = null;
  const trusted = (): Trusted | null =>
    published === null ? null : { ...published.texts, root: published.texts.roots.at(-1) ?? '' };
  const isHere = (sha256: string) => files.get(sha256)?.state.isComplete === true;
  return {
    metadata: async (role, version) => {
      if (published === null) return null;
      const texts = role === 'root' ? published.texts.roots : [published.texts[role]];
      return version === null
        ? (texts.at(-1) ?? null)
        : (texts.find((text) => text.includes(`"version":${version}`)) ?? null);
    },
    published: async () => {
      const known = trusted();
      if (published === null || known === null) return null;
      const targets = published.believed.targets.map((entry) => ({ ...entry, isHere: isHere(entry.sha256) }));
      return { trusted: known, targets, storedBytes: storedBytes() };
    },
    leftMs: async () => (published === null ? null : published.believed.expiresAtMs - nowMs()),
    publish: async (texts, judge) => {
      const believed = judge(trusted(), nowMs());
      const missing = believed.targets.filter(({ sha256 }) => !isHere(sha256)).map(({ path }) => path);
      if (missing.length === 0) published = { texts, believed };
      return { believed, missing };
    },
    target: async (path) => published?.believed.targets.find((one) => one.path === path && isHere(one.sha256)) ?? null,
    file: async (sha256) => files.get(sha256)?.state ?? null,
    append: async ({ sha256, bytes, offset, content }, bytesMax) => {
      const file = files.get(sha256) ?? { state: { bytes, received: 0, isComplete: false }, chunks: [] };
      if (!files.has(sha256) && storedBytes() + bytes > bytesMax) return { type: 'full', storedBytes: storedBytes() };
      files.set(sha256, file);
      if (file.state.bytes !== bytes) return { type: 'other_size', file: file.state };
      if (file.state.received !== offset) return { type: 'misplaced', file: file.state };
      for (let at = 0; at < content.length; at += RELEASE_CHUNK_BYTES)
        file.chunks.push(content.subarray(at, at + RELEASE_CHUNK_BYTES));
      file.state = { ...file.state, received: offset + content.length };
      return { type: 'stored', file: file.state };
    },
    complete: async (sha256) => {
      const file = files.get(sha256);
      if (file !== undefined) file.state = { ...file.state, isComplete: true };
    },
    remove: async (sha256s) => {
      for (const sha256 of sha256s) files.delete(sha256);
    },
    withdraw: async (sha256s, timestamp) => {
      if ((published?.believed.versions.timestamp ?? null) !== timestamp) return false;
      for (const sha256 of sha256s) files.delete(sha256);
      return true;
    },
    chunk: async (sha256, index) => files.get(sha256)?.chunks[index] ?? null,
    texts: async (sha256s) =>
      new Map(
        sha256s.flatMap((sha256): [string, string][] =>
          isHere(sha256) ? [[sha256, files.get(sha256)?.chunks[0]?.toString() ?? '']] : [],
        ),
      ),
  };
}
