/** Files of releases as machines download them: found by their path, read by chunks, written at the common pace. */
import { createHash } from 'node:crypto';
import type { Download, Place, Releases } from '../../api/release-ports.ts';
import { RELEASE_CHUNK_BYTES, RELEASES_METADATA_PATH, RELEASES_TARGETS_PATH, targetOf } from '../protocol/releases.ts';
import { createChunkCache } from './chunk-cache.ts';
import { Pace } from './pace.ts';
import type { ReleaseRows } from './ports.ts';

/** Bytes that are written at a time: the turns of all downloads are so small. */
const WRITE_BYTES = 65_536;

/** Metadata files, by their names; a root without a number is the last one. */
const METADATA_NAME = /^(?:(?<version>[1-9]\d{0,8})\.)?(?<role>root|timestamp|snapshot|targets)\.json$/u;

/** A target as clients ask for it that put its hash in front, as the specification says (TUF, 6.2). */
const HASHED_NAME = /^(?<folder>.*\/)?(?<hash>[0-9a-f]{64})\.(?<name>[^/]+)$/u;

/** Downloads at a pace. */
export class Downloads implements Pick<Releases, 'find' | 'enter' | 'counters'> {
  readonly #rows: ReleaseRows;
  readonly #pace: Pace;
  readonly #chunk: ReleaseRows['chunk'];
  readonly #counted = { started: 0, bytes: 0, refused: 0, cut: 0 };

  constructor(rows: ReleaseRows, bytesPerSecond: number, monotonicMs: () => number) {
    this.#rows = rows;
    this.#pace = new Pace(bytesPerSecond, { nowMs: monotonicMs });
    this.#chunk = createChunkCache(rows);
  }

  get counters() {
    return { active: this.#pace.taken, ...this.#counted };
  }

  async find(path: string): Promise<Download | null> {
    if (path.startsWith(RELEASES_METADATA_PATH)) return this.#metadata(path.slice(RELEASES_METADATA_PATH.length));
    if (path.startsWith(RELEASES_TARGETS_PATH)) return this.#target(path.slice(RELEASES_TARGETS_PATH.length));
    return null;
  }

  enter(source: string): Place | null {
    const leave = this.#pace.enter(source);
    if (leave === null) {
      this.#counted.refused += 1;
      return null;
    }
    this.#counted.started += 1;
    const left = new AbortController();
    return {
      mayWrite: async (bytes) => {
        await this.#pace.turn(source, bytes, left.signal);
        this.#counted.bytes += bytes;
      },
      cut: () => {
        this.#counted.cut += 1;
      },
      leave: () => {
        leave();
        left.abort();
      },
    };
  }

  async #metadata(name: string): Promise<Download | null> {
    const { version, role } = METADATA_NAME.exec(name)?.groups ?? {};
    if (role === undefined) return null;
    // A timestamp has no number in its name; the others have one, but for the last root.
    if ((role === 'timestamp') !== (version === undefined) && !(role === 'root' && version === undefined)) return null;
    const text = await this.#rows.metadata(role as 'root', version === undefined ? null : Number(version));
    if (text === null) return null;
    const content = Buffer.from(text);
    return {
      type: 'application/json',
      bytes: content.length,
      etag: createHash('sha256').update(content).digest('hex'),
      isImmutable: version !== undefined,
      async *content(start, end, place) {
        for (let at = start; at < end; at += WRITE_BYTES)
          yield* written(content.subarray(at, Math.min(end, at + WRITE_BYTES)), place);
      },
    };
  }

  async #target(asked: string): Promise<Download | null> {
    const { folder = '', hash, name } = HASHED_NAME.exec(asked)?.groups ?? {};
    const isHashed = name !== undefined && targetOf(asked) === null;
    const path = isHashed ? `${folder}${name}` : asked;
    const what = targetOf(path);
    if (what === null) return null;
    const target = await this.#rows.target(path);
    if (target === null || (isHashed && target.sha256 !== hash)) return null;
    return {
      type: what.kind === 'file' ? 'application/gzip' : 'application/json',
      bytes: target.bytes,
      etag: target.sha256,
      isImmutable: what.kind === 'file' || isHashed,
      content: (start, end, place) => this.#file(target.sha256, { start, end }, place),
    };
  }

  async *#file(
    sha256: string,
    { start, end }: { readonly start: number; readonly end: number },
    place: Place,
  ): AsyncGenerator<Buffer, void, void> {
    for (let at = start; at < end;) {
      const index = Math.floor(at / RELEASE_CHUNK_BYTES);
      const from = index * RELEASE_CHUNK_BYTES;
      const content = await this.#chunk(sha256, index);
      if (content === null || from + content.length <= at) {
        place.cut();
        throw new Error('A release was deleted while it was downloaded.');
      }
      const until = Math.min(end, from + content.length, at + WRITE_BYTES);
      yield* written(content.subarray(at - from, until - from), place);
      at = until;
    }
  }
}

async function* written(piece: Buffer, place: Place): AsyncGenerator<Buffer, void, void> {
  await place.mayWrite(piece.length);
  yield piece;
}
