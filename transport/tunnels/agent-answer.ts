/**
 * Reading one answer of an agent's HTTP server. Everything in it may be a lie: it is bounded in bytes, pieces and
 * headers, and nothing of it is repeated.
 */
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AgentPorts } from '../protocol/agent-description.ts';
import type { Dialled } from '../net/streams/dialled.ts';
import { refuseUpgrade, UnaskedUpgrade } from '../net/streams/unasked-upgrade.ts';
import { NotDialled, type KeptStreams, type StreamRequest, type StreamWanted } from './kept-streams.ts';
import type { AnswerShelf, Reading } from './answer-shelf.ts';
import { AGENT_HEADER_BYTES_MAX, AGENT_PIECES_MAX, AGENT_PIECE_BYTES_MIN } from './limits.ts';

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
  /** So many bytes came. False: the node is over its share. */
  readonly take?: (bytes: number) => boolean;
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

/** First room for a body, in bytes: what the metrics of a host have. It is doubled as they come. */
const ROOM_BYTES = 65_536;

/** Looked at in one go: 1 ms of an exposition, which usually has less. */
const JUDGED_AT_ONCE_BYTES = 65_536;

const OVER_SHARE =
  'The answers of this node are too large to be read as often as they are asked for: ask it less often.';

/** Bytes around a small body, such as its headers. */
const AROUND_BYTES_MAX = 65_536;

/** Where answers are read. */
export interface AnswerPlace {
  readonly streams: KeptStreams<AgentEndpoint>;
  readonly shelf: AnswerShelf;
  /** Is told of the bytes of each answer that is over, whatever it was. */
  readonly passed?: (bytes: number) => void;
}

/**
 * One request on a stream that is opened for it or was kept. Never rejects; resolves early with a problem when the
 * signal aborts.
 */
export function readAnswer(wanted: AnswerWanted, place: AnswerPlace, signal: AbortSignal): Promise<Answered> {
  return new AnswerReading(wanted, place, signal).answered;
}

/** One request under way. */
class AnswerReading implements Reading {
  readonly answered: Promise<Answered>;
  bytes = 0;
  readonly #resolve: (answered: Answered) => void;
  readonly #wanted: AnswerWanted;
  readonly #place: AnswerPlace;
  readonly #signal: AbortSignal;
  readonly #sent: ClientRequest;
  /** That it reads from; null: none yet, or no more. */
  #stream: Duplex | null = null;
  #came = 0;
  #isSettled = false;

  constructor(wanted: AnswerWanted, place: AnswerPlace, signal: AbortSignal) {
    const { promise, resolve } = Promise.withResolvers<Answered>();
    this.answered = promise;
    this.#resolve = resolve;
    [this.#wanted, this.#place, this.#signal] = [wanted, place, signal];
    this.#sent = refuseUpgrade(request(requestOf(wanted, place.streams)));
    signal.addEventListener('abort', this.#aborted, { once: true });
    this.#sent
      .on('socket', (opened: Duplex) => {
        this.#stream = opened;
        opened.prependListener('data', this.#take);
      })
      .on('information', () =>
        this.#settle(wrong('The node answered with interim answers, which it was not asked for.')),
      )
      .on('response', (response) => this.#responded(response))
      .on('error', (error) => this.#failed(error))
      .end();
    if (signal.aborted) this.#aborted();
  }

  cut(): void {
    this.#settle({ ...wrong('Too much is read from nodes at once: try again shortly.'), isOverloaded: true });
  }

  #settle(answered: Answered): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#signal.removeEventListener('abort', this.#aborted);
    this.#stream?.off('data', this.#take);
    this.#place.shelf.drop(this);
    this.#place.passed?.(this.#came);
    this.#resolve(answered);
    if (answered.ok && this.#sent.shouldKeepAlive && this.#sent.writableFinished) return; // the stream is kept
    this.#stream?.pause(); // else all that came is parsed: a quarter of a second where it is 2 MiB in chunks of one byte
    this.#stream?.destroy();
    this.#sent.destroy();
  }

  readonly #aborted = (): void => this.#settle(wrong('It was given up.'));

  readonly #take = (bytes: Buffer): void => {
    this.#came += bytes.length;
    const { bytesMax, take } = this.#wanted;
    // names of pieces and the like are in no body
    if (this.#came > 2 * bytesMax + AROUND_BYTES_MAX) this.#settle(wrong(tooLarge(bytesMax)));
    else if (take?.(bytes.length) === false) this.#settle({ ...wrong(OVER_SHARE), isOverloaded: true });
  };

  #responded(response: IncomingMessage): void {
    if (this.#isSettled) return; // what came with it was too much already, and room is taken for no answer that is over
    const problem = headProblem(response, this.#wanted);
    if (problem !== null) return this.#settle({ ...wrong(problem), status: response.statusCode });
    readBody(response, this.#wanted, {
      reading: this,
      shelf: this.#place.shelf,
      settle: (answered) => this.#settle(answered),
      isSettled: () => this.#isSettled,
      isWhole: () => {
        this.#stream?.off('data', this.#take);
        this.#stream = null;
      },
    });
  }

  #failed(error: Error): void {
    if (error instanceof NotDialled) return this.#settle({ ok: false, dialled: error.dialled });
    if (error instanceof UnaskedUpgrade) return this.#settle(wrong('The node answered with another protocol.'));
    const broken = wrong('The node did not answer with HTTP, or broke off.');
    return this.#settle({ ...broken, isStale: this.#sent.reusedSocket && this.#came === 0 });
  }
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
  /** All of it came, and is still to be judged: its stream is free for the next request. */
  readonly isWhole: () => void;
}

/** What is long is looked at a part a turn, so that others have theirs between (L1). */
function judgeInTurns(judge: AnswerJudge, rest: Buffer, judged: (problem: string | null) => void): void {
  const problem = judge.take(rest.subarray(0, JUDGED_AT_ONCE_BYTES));
  if (problem !== null) return judged(problem);
  if (rest.length <= JUDGED_AT_ONCE_BYTES) return judged(judge.end());
  setImmediate(judgeInTurns, judge, rest.subarray(JUDGED_AT_ONCE_BYTES), judged);
}

/** Copied together as it comes: a body in pieces of one byte would hold hundreds of times its size. */
function readBody(
  response: IncomingMessage,
  { bytesMax, judge }: AnswerWanted,
  { reading, shelf, settle, isSettled, isWhole }: Place,
): void {
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
    const body = room.subarray(0, bytes);
    const judgedWhole = (problem: string | null): void =>
      settle(problem === null ? { ok: true, type: response.headers['content-type'] ?? '', body } : wrong(problem));
    if (judge === undefined || judged === bytes) return judgedWhole(judge?.end() ?? null);
    isWhole();
    judgeInTurns(judge, body.subarray(judged), judgedWhole);
  });
  response.on('error', () => settle(wrong('The answer of the node was cut.')));
}
