/** Chunks that were read a moment ago: a fleet that updates asks for the same ones, and the database is asked once. */
import type { ReleaseRows } from './ports.ts';

/** Chunks that are kept: 16 MiB. */
const CHUNKS_MAX = 64;

/** Chunks that are read at a time: the other connections to the database are for those who live by them. */
const READS_MAX = 2;

/** Reads chunks. */
export function createChunkCache(rows: Pick<ReleaseRows, 'chunk'>): ReleaseRows['chunk'] {
  const chunks = new Map<string, Promise<Buffer | null>>(); // oldest first
  const waiting: (() => void)[] = [];
  let reading = 0;

  async function read(sha256: string, index: number): Promise<Buffer | null> {
    if (reading >= READS_MAX) await new Promise<void>((resolve) => waiting.push(resolve));
    else reading += 1;
    try {
      return await rows.chunk(sha256, index);
    } finally {
      const next = waiting.shift();
      if (next === undefined) reading -= 1;
      else next();
    }
  }

  return (sha256, index) => {
    const name = `${sha256}/${index}`;
    const known = chunks.get(name);
    if (known !== undefined) {
      chunks.delete(name);
      chunks.set(name, known);
      return known;
    }
    const chunk = read(sha256, index);
    chunks.set(name, chunk);
    const forget = () => chunks.get(name) === chunk && chunks.delete(name);
    chunk.then((content) => content === null && forget(), forget);
    for (const oldest of chunks.keys()) {
      if (chunks.size <= CHUNKS_MAX) break;
      chunks.delete(oldest);
    }
    return chunk;
  };
}
