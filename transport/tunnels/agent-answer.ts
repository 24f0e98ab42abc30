/**
 * Reading one answer of an agent's HTTP server. Everything in it may be a lie: it is bounded in bytes, pieces and
 * headers, and nothing of it is repeated.
 */
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AgentPorts } from '../protocol/agent-description.ts';
import { refuseUpgrade, UnaskedUpgrade } from '../net/streams/unasked-upgrade.ts';
import { NotDialled, type KeptStreams, type StreamRequest, type StreamWanted } from './kept-streams.ts';
import type { AnswerShelf, Reading } from './answer-shelf.ts';
import { OVER_SHARE, readBody, tooLarge, wrong, type Answered, type BodyWanted } from './answer-body.ts';
import { AGENT_HEADER_BYTES_MAX } from './limits.ts';

/** Where a node is asked, and with what. */
export interface AgentEndpoint {
  readonly ports: AgentPorts;
  /** SHA-256 of its API token. */
  readonly tokenHash: Uint8Array;
}

/** What is asked, and where. */
export interface AnswerWanted extends BodyWanted {
  readonly stream: StreamWanted<AgentEndpoint>;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** It may come packed by gzip. */
  readonly acceptsGzip?: boolean | undefined;
}

/** The one encoding that is asked for. */
const GZIP = 'gzip';

/** Bytes around a small body, such as its headers. */
const AROUND_BYTES_MAX = 65_536;

/** What comes is in five buffers of its own: at the socket, in HTTP/2, in its stream, in the parser, and here. */
const BUFFERS_PER_BYTE = 5;

/** Where answers are read. */
export interface AnswerPlace {
  readonly streams: KeptStreams<AgentEndpoint>;
  readonly shelf: AnswerShelf;
  /** Is told of the bytes of the buffers that each answer took which is over, whatever it was. */
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
    this.#place.passed?.(
      BUFFERS_PER_BYTE * this.#came + (answered.ok && answered.gzip !== null ? answered.body.length : 0),
    );
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
    else if (take?.(bytes.length) === false) this.#settle(OVER_SHARE);
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
  { stream, path, headers, acceptsGzip }: AnswerWanted,
  agent: AnswerPlace['streams'],
): StreamRequest<AgentEndpoint> {
  return {
    agent,
    wanted: stream,
    host: 'localhost',
    servername: '', // there is no TLS: else Node works it out of the header for each request
    path,
    maxHeaderSize: AGENT_HEADER_BYTES_MAX,
    headers: { host: 'localhost', ...(acceptsGzip === true && { 'accept-encoding': GZIP }), ...headers },
  };
}

function headProblem(
  { statusCode, headers, httpVersion }: IncomingMessage,
  { bytesMax, judge, acceptsGzip }: AnswerWanted,
): string | null {
  if (statusCode !== 200) return `The node answered with status ${statusCode}.`;
  if (httpVersion !== '1.1') return 'The node answered with another version of HTTP than 1.1.';
  if (headers['content-encoding'] !== undefined && !(acceptsGzip === true && headers['content-encoding'] === GZIP))
    return 'The node answered with an encoded body, which it was not asked for.';
  const length = headers['content-length'];
  // The end of one that says neither cannot be told from a cut.
  if (length === undefined && headers['transfer-encoding'] !== 'chunked')
    return 'The node did not say how long its answer is.';
  if (length !== undefined && Number(length) > bytesMax) return tooLarge(bytesMax);
  return judge?.type(headers['content-type'] ?? '') ?? null;
}
