/**
 * Reading one answer of an agent's HTTP server. Everything in it may be a lie: it is bounded in bytes, pieces and
 * headers, and nothing of it is repeated.
 */
import { request, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AgentPorts } from '../protocol/agent-description.ts';
import type { Dialled } from '../net/streams/dialled.ts';
import { refuseUpgrade, UnaskedUpgrade } from '../net/streams/unasked-upgrade.ts';
import { NotDialled, type KeptStreams, type StreamRequest, type StreamWanted } from './kept-streams.ts';
import { AGENT_HEADER_BYTES_MAX, AGENT_PIECES_MAX, AGENT_REQUESTS_BYTES_MAX } from './limits.ts';

/** Looks at an answer as it comes; each call answers null, or a sentence that refuses it. */
export interface AnswerJudge {
  /** The header of that name as it was sent, or the empty text. */
  readonly type: (contentType: string) => string | null;
  readonly take: (piece: Buffer) => string | null;
  readonly end: () => string | null;
}

/** Where a node is asked, and with what. */
export interface AgentEndpoint {
  readonly ports: AgentPorts;
  /** SHA-256 of its API token. */
  readonly tokenHash: Uint8Array;
}

/** What is asked, and where. */
export interface AnswerWanted {
  readonly stream: StreamWanted<AgentEndpoint>;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytesMax: number;
  readonly judge?: AnswerJudge | undefined;
}

/**
 * The body; or why there is no stream; or a sentence that says what is wrong with the answer, with the status of one
 * that was wrong from its head on. `isStale`: on a stream that was kept nothing came, since its agent had closed it.
 */
export type Answered =
  | { readonly ok: true; readonly type: string; readonly body: Buffer }
  | { readonly ok: false; readonly dialled: Extract<Dialled, { ok: false }> }
  | {
      readonly ok: false;
      readonly problem: string;
      readonly status?: number | undefined;
      readonly isOverloaded?: boolean;
      readonly isStale?: boolean;
    };

/** Answers that are being read, with the memory that they hold together. */
export interface AnswerShelf {
  /** Room for more bytes of this one; when all together have no more room, the largest is cut. */
  grow(reading: Reading, bytes: number): void;
  drop(reading: Reading): void;
  readonly bytes: number;
}

/** One answer on the shelf. */
export interface Reading {
  bytes: number;
  /** Others need the room. */
  cut(): void;
}

/** An empty shelf. */
export function createAnswerShelf(bytesMax: number = AGENT_REQUESTS_BYTES_MAX): AnswerShelf {
  const readings = new Set<Reading>();
  let total = 0;
  const drop = (reading: Reading): void => {
    if (readings.delete(reading)) total -= reading.bytes;
  };
  return {
    drop,
    grow(reading, bytes) {
      if (readings.has(reading)) total -= reading.bytes;
      readings.add(reading);
      reading.bytes = bytes;
      total += bytes;
      if (total <= bytesMax) return; // else one is enough: it is the largest, and it grew by less than it has
      let largest = reading;
      for (const other of readings) if (other.bytes > largest.bytes) largest = other;
      drop(largest);
      largest.cut();
    },
    get bytes() {
      return total;
    },
  };
}

/** First room for a body, in bytes: what the metrics of a host have. It is doubled as they come. */
const ROOM_BYTES = 65_536;

/** Bytes around a small body, such as its headers. */
const AROUND_BYTES_MAX = 65_536;

/** Where answers are read. */
export interface AnswerPlace {
  readonly streams: KeptStreams<AgentEndpoint>;
  readonly shelf: AnswerShelf;
}

/**
 * One request on a stream that is opened for it or was kept. Never rejects; resolves early with a problem when the
 * signal aborts.
 */
export function readAnswer(
  wanted: AnswerWanted,
  { streams, shelf }: AnswerPlace,
  signal: AbortSignal,
): Promise<Answered> {
  const { promise, resolve } = Promise.withResolvers<Answered>();
  const reading: Reading = {
    bytes: 0,
    cut: () => settle({ ...wrong('Too much is read from nodes at once: try again shortly.'), isOverloaded: true }),
  };
  let isSettled = false;
  let stream: Duplex | null = null;

  function settle(answered: Answered): void {
    if (isSettled) return;
    isSettled = true;
    signal.removeEventListener('abort', aborted);
    stream?.off('data', take);
    shelf.drop(reading);
    resolve(answered);
    if (answered.ok && sent.shouldKeepAlive && sent.writableFinished) return; // the stream is kept
    stream?.destroy();
    sent.destroy();
  }
  function aborted(): void {
    settle(wrong('It was given up.'));
  }

  let came = 0;
  function take(bytes: Buffer): void {
    came += bytes.length;
    // names of pieces and the like are in no body
    if (came > 2 * wanted.bytesMax + AROUND_BYTES_MAX) settle(wrong(tooLarge(wanted.bytesMax)));
  }

  const sent = refuseUpgrade(request(requestOf(wanted, streams)));
  signal.addEventListener('abort', aborted, { once: true });
  sent.on('socket', (opened) => {
    stream = opened;
    opened.prependListener('data', take);
  });
  sent.on('information', () => settle(wrong('The node answered with interim answers, which it was not asked for.')));
  sent.on('response', (response) => {
    if (isSettled) return; // what came with it was too much already, and room is taken for no answer that is over
    const problem = headProblem(response, wanted);
    if (problem === null) readBody(response, wanted, { reading, shelf, settle, isSettled: () => isSettled });
    else settle({ ...wrong(problem), status: response.statusCode });
  });
  sent.on('error', (error) => {
    if (error instanceof NotDialled) return settle({ ok: false, dialled: error.dialled });
    if (error instanceof UnaskedUpgrade) return settle(wrong('The node answered with another protocol.'));
    const broken = wrong('The node did not answer with HTTP, or broke off.');
    return settle({ ...broken, isStale: sent.reusedSocket && came === 0 });
  });
  sent.end();
  if (signal.aborted) aborted();
  return promise;
}

function requestOf(
  { stream, path, headers }: AnswerWanted,
  agent: AnswerPlace['streams'],
): StreamRequest<AgentEndpoint> {
  return {
    agent,
    wanted: stream,
    host: 'localhost',
    path,
    maxHeaderSize: AGENT_HEADER_BYTES_MAX,
    headers: { host: 'localhost', ...headers },
  };
}

function wrong(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}

function headProblem(
  { statusCode, headers, httpVersion }: IncomingMessage,
  { bytesMax, judge }: AnswerWanted,
): string | null {
  if (statusCode !== 200) return `The node answered with status ${statusCode}.`;
  if (httpVersion !== '1.1') return 'The node answered with another version of HTTP than 1.1.';
  if (headers['content-encoding'] !== undefined)
    return 'The node answered with an encoded body, which it was not asked for.';
  const length = headers['content-length'];
  // The end of one that says neither cannot be told from a cut.
  if (length === undefined && headers['transfer-encoding'] !== 'chunked')
    return 'The node did not say how long its answer is.';
  if (length !== undefined && Number(length) > bytesMax) return tooLarge(bytesMax);
  return judge?.type(headers['content-type'] ?? '') ?? null;
}

function tooLarge(bytesMax: number): string {
  return `The node answered with more than ${bytesMax} bytes.`;
}

interface Place {
  readonly reading: Reading;
  readonly shelf: AnswerShelf;
  readonly settle: (answered: Answered) => void;
  readonly isSettled: () => boolean;
}

/** Copied together as it comes: a body in pieces of one byte would hold hundreds of times its size. */
function readBody(
  response: IncomingMessage,
  { bytesMax, judge }: AnswerWanted,
  { reading, shelf, settle, isSettled }: Place,
): void {
  const declared = Number(response.headers['content-length'] ?? ROOM_BYTES);
  let room = Buffer.allocUnsafe(Math.min(Math.max(declared, 1), ROOM_BYTES));
  let bytes = 0;
  let pieces = 0;
  shelf.grow(reading, room.length);
  response.on('data', (piece: Buffer) => {
    if (isSettled()) return;
    pieces += 1;
    if (pieces > AGENT_PIECES_MAX) return settle(wrong(`The node answered in more than ${AGENT_PIECES_MAX} pieces.`));
    if (bytes + piece.length > bytesMax) return settle(wrong(tooLarge(bytesMax)));
    const problem = judge?.take(piece) ?? null;
    if (problem !== null) return settle(wrong(problem));
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
    const problem = judge?.end() ?? null;
    settle(
      problem === null
        ? { ok: true, type: response.headers['content-type'] ?? '', body: room.subarray(0, bytes) }
        : wrong(problem),
    );
  });
  response.on('error', () => settle(wrong('The answer of the node was cut.')));
}
