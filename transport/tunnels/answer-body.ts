/**
 * The body of an agent's answer, as it comes: bounded in bytes and pieces, unpacked where it came packed, and judged as
 * a whole before anybody has any of it.
 */
import type { IncomingMessage } from 'node:http';
import type { Dialled } from '../net/streams/dialled.ts';
import type { AnswerShelf, Reading } from './answer-shelf.ts';
import { unpack, unpackedLength } from './gzip-body.ts';
import { AGENT_PIECES_MAX, AGENT_PIECE_BYTES_MIN } from './limits.ts';

/** Looks at an answer as it comes; each call answers null, or a sentence that refuses it. */
export interface AnswerJudge {
  /** The header of that name as it was sent, or the empty text. */
  readonly type: (contentType: string) => string | null;
  readonly take: (piece: Buffer) => string | null;
  readonly end: () => string | null;
}

/** What is wanted of a body. */
export interface BodyWanted {
  /** Of it, packed and unpacked alike. */
  readonly bytesMax: number;
  readonly judge?: AnswerJudge | undefined;
  /** So many bytes came. False: the node is over its share. */
  readonly take?: (bytes: number) => boolean;
}

/**
 * The body, and how it came where it came packed; or why there is no stream; or a sentence that says what is wrong
 * with the answer, with the status of one that was wrong from its head on. `isStale`: on a stream that was kept nothing
 * came, since its agent had closed it.
 */
export type Answered =
  | { readonly ok: true; readonly type: string; readonly body: Buffer; readonly gzip: Buffer | null }
  | { readonly ok: false; readonly dialled: Extract<Dialled, { ok: false }> }
  | {
      readonly ok: false;
      readonly problem: string;
      readonly status?: number | undefined;
      readonly isOverloaded?: boolean;
      readonly isStale?: boolean;
    };

/** First room for a body, in bytes: what the metrics of a host have. It is doubled as they come. */
const ROOM_BYTES = 65_536;

/** Looked at in one go: 1 ms of an exposition, which usually has less. */
const JUDGED_AT_ONCE_BYTES = 65_536;

/** Said of an answer that is wrong. */
export function wrong(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}

/** Said of one that is too large. */
export function tooLarge(bytesMax: number): string {
  return `The node answered with more than ${bytesMax} bytes.`;
}

/** Said of a node whose answers take more than its share. */
export const OVER_SHARE = {
  ...wrong('The answers of this node are too large to be read as often as they are asked for: ask it less often.'),
  isOverloaded: true,
};

/** What reading a body needs of the request that it answers. */
export interface BodyPlace {
  readonly reading: Reading;
  readonly shelf: AnswerShelf;
  readonly settle: (answered: Answered) => void;
  readonly isSettled: () => boolean;
  /** All of it came, and is still to be judged: its stream is free for the next request. */
  readonly isWhole: () => void;
}

/** Copied together as it comes: a body in pieces of one byte would hold hundreds of times its size. */
export function readBody(response: IncomingMessage, wanted: BodyWanted, place: BodyPlace): void {
  const { bytesMax } = wanted;
  const { reading, shelf, settle, isSettled, isWhole } = place;
  const isPacked = response.headers['content-encoding'] !== undefined;
  const judge = isPacked ? undefined : wanted.judge; // what is packed is looked at when it is not any more
  const declared = Number(response.headers['content-length'] ?? ROOM_BYTES);
  let room = Buffer.allocUnsafe(Math.min(Math.max(declared, 1), ROOM_BYTES));
  let bytes = 0;
  let judged = 0;
  let pieces = 0;
  shelf.grow(reading, room.length);
  response.on('data', (piece: Buffer) => {
    if (isSettled()) return;
    pieces += 1;
    if (pieces > AGENT_PIECES_MAX + bytes / AGENT_PIECE_BYTES_MIN)
      return settle(wrong('The node answered in pieces that are too many and too small.'));
    if (bytes + piece.length > bytesMax) return settle(wrong(tooLarge(bytesMax)));
    const problem = bytes < JUDGED_AT_ONCE_BYTES ? (judge?.take(piece) ?? null) : null;
    if (problem !== null) return settle(wrong(problem));
    if (bytes < JUDGED_AT_ONCE_BYTES) judged += piece.length;
    if (bytes + piece.length > room.length) {
      const larger = Buffer.allocUnsafe(Math.min(bytesMax, Math.max(2 * room.length, bytes + piece.length)));
      room.copy(larger, 0, 0, bytes);
      room = larger;
      shelf.grow(reading, room.length);
    }
    bytes += piece.copy(room, bytes);
  });
  response.on('end', () => {
    if (isSettled()) return;
    if (!response.complete) return settle(wrong('The answer of the node was cut.'));
    const type = response.headers['content-type'] ?? '';
    const body = room.subarray(0, bytes);
    if (isPacked) {
      isWhole();
      return unpackBody({ type, packed: body, roomBytes: room.length }, wanted, place);
    }
    const judgedWhole = (problem: string | null): void =>
      settle(problem === null ? { ok: true, type, body, gzip: null } : wrong(problem));
    if (judge === undefined || judged === bytes) return judgedWhole(judge?.end() ?? null);
    isWhole();
    judgeInTurns(judge, body.subarray(judged), judgedWhole);
  });
  response.on('error', () => settle(wrong('The answer of the node was cut.')));
}

/** What is long is looked at a part a turn, so that others have theirs between (L1). */
function judgeInTurns(judge: AnswerJudge, rest: Buffer, judged: (problem: string | null) => void): void {
  const problem = judge.take(rest.subarray(0, JUDGED_AT_ONCE_BYTES));
  if (problem !== null) return judged(problem);
  if (rest.length <= JUDGED_AT_ONCE_BYTES) return judged(judge.end());
  setImmediate(judgeInTurns, judge, rest.subarray(JUDGED_AT_ONCE_BYTES), judged);
}

/** Within the same limits as one that came as it is, each before it is unpacked: a few bytes become millions. */
function unpackBody(
  { type, packed, roomBytes }: { readonly type: string; readonly packed: Buffer; readonly roomBytes: number },
  { bytesMax, judge, take }: BodyWanted,
  { reading, shelf, settle, isSettled }: BodyPlace,
): void {
  const bytes = unpackedLength(packed);
  if (bytes > bytesMax) return settle(wrong(tooLarge(bytesMax)));
  if (take?.(Math.max(0, bytes - packed.length)) === false) return settle(OVER_SHARE);
  shelf.grow(reading, roomBytes + bytes);
  if (isSettled()) return; // it was the largest
  const unpacked = (body: Buffer | null): void => {
    if (isSettled()) return;
    if (body === null) return settle(wrong('The node answered with a body that is not packed as it says.'));
    const judged = (problem: string | null): void =>
      settle(problem === null ? { ok: true, type, body, gzip: packed } : wrong(problem));
    if (judge === undefined) return judged(null);
    judgeInTurns(judge, body, judged);
  };
  unpack(packed, bytes, { isWanted: () => !isSettled(), unpacked });
}
