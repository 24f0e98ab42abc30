/**
 * Bodies that were packed by gzip: unpacked to as many bytes as they say to have, and not to one more, and refused
 * where anything is left of them then: others may read that, too. Source: RFC 1952.
 */
import { gunzip, gunzipSync, type Gunzip } from 'node:zlib';
import { AGENT_REQUESTS_MAX } from './limits.ts';

/**
 * Unpacked in the turn in which it came, if it and what is in it are no longer than this, in bytes: 64 KiB of an
 * exposition take 0.2 ms, and the dearest bytes 0.5 ms a KiB packed. What is longer is left to another thread (L1).
 */
const UNPACKED_AT_ONCE_BYTES_MAX = 131_072;
const PACKED_AT_ONCE_BYTES_MAX = 24_576;

/** Bodies that other threads unpack at a time: there are four, which look up names and read files besides. */
const UNPACKED_BESIDE_MAX = 2;

/** Packed bytes are at most so many more than what is in them: what is longer has nothing in it for the most part. */
const LONGER_BYTES_MAX = 1_024;

/** Smallest body of gzip, in bytes: a head of 10, a block of 2 and two numbers of 4. */
const PACKED_BYTES_MIN = 20;

/** Room beyond what it says, in bytes, so that its end is seen in the same go. */
const BESIDES_BYTES = 64;

/** What zlib answers with `info`, which its types leave out, and where an engine keeps what it unpacked. */
interface Unpacked {
  readonly buffer: Buffer;
  readonly engine: Gunzip & { _outBuffer: Buffer | null; buffers?: readonly Buffer[] | null };
}

/** One that waits for a thread. */
interface Waiting {
  readonly isWanted: () => boolean;
  readonly run: (done: () => void) => void;
}

/** The oldest first; as many as agents are asked at once, at most, as those that nobody wants any more make room. */
let waiting: Waiting[] = [];
let running = 0;

/** Bytes that it says to have, which is found to be a lie only when it is unpacked. Source: RFC 1952, 2.3.1, ISIZE. */
export function unpackedLength(packed: Buffer): number {
  return packed.length < PACKED_BYTES_MIN ? 0 : packed.readUInt32LE(packed.length - 4);
}

/**
 * Tells the body, which has so many bytes; null: it has not, is no gzip, or goes on behind it. Never throws. One that
 * is not wanted any more when it has its turn is not unpacked, and nothing is told of it.
 */
export function unpack(
  packed: Buffer,
  bytes: number,
  { isWanted, unpacked }: { readonly isWanted: () => boolean; readonly unpacked: (body: Buffer | null) => void },
): void {
  if (packed.length > bytes + LONGER_BYTES_MAX) return unpacked(null);
  const whole = ({ buffer, engine }: Unpacked): Buffer | null => {
    letGo(engine);
    return buffer.length === bytes && engine.bytesWritten === packed.length ? buffer : null;
  };
  const limits = { maxOutputLength: Math.max(bytes, 1), info: true };
  if (bytes > UNPACKED_AT_ONCE_BYTES_MAX || packed.length > PACKED_AT_ONCE_BYTES_MAX)
    return beside(isWanted, (done) =>
      gunzip(packed, limits, (error, result) => {
        done();
        unpacked(error === null ? whole(result as unknown as Unpacked) : null);
      }),
    );
  let body: Buffer | null = null;
  try {
    body = whole(gunzipSync(packed, { ...limits, chunkSize: bytes + BESIDES_BYTES }) as unknown as Unpacked);
  } catch {
    // whatever it is, it is not what was asked for
  }
  unpacked(body);
}

/**
 * Native memory hangs on an engine, so that V8 ends it with the whole heap alone: all that was unpacked stayed until
 * then, and 4 MB of it a second had the whole heap collected every 2.7 s.
 */
function letGo(engine: Unpacked['engine']): void {
  // eslint-disable-next-line no-underscore-dangle -- what Node calls it
  engine._outBuffer = null;
  engine.buffers = null;
}

function beside(isWanted: Waiting['isWanted'], run: Waiting['run']): void {
  if (waiting.length >= AGENT_REQUESTS_MAX) waiting = waiting.filter((one) => one.isWanted());
  waiting.push({ isWanted, run });
  next();
}

function next(): void {
  while (running < UNPACKED_BESIDE_MAX) {
    const one = waiting.shift();
    if (one === undefined) return;
    if (!one.isWanted()) continue;
    running += 1;
    one.run(() => {
      running -= 1;
      next();
    });
  }
}
