/**
 * One absolute-form request on its stream to the target: request and answer are passed on as they come. Beyond this no
 * byte of the target is trusted: whatever it sets off ends this exchange alone.
 */
import {
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type InformationEvent,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import type { Log } from '../net/log.ts';
import { contained } from '../net/streams/contained.ts';
import { reset } from '../net/streams/reset.ts';
import { refuseUpgrade, UnaskedUpgrade } from '../net/streams/unasked-upgrade.ts';
import type { ClientConnections } from './client-connections.ts';
import { proxyError, type Answer } from './http-answers.ts';
import { answer, type Exchange } from './http-exchange.ts';
import { passedOn, passedReason, values, type Forwarded } from './http-requests.ts';
import { HEADER_BYTES_MAX, INTERIMS_MAX } from './limits.ts';

/** Bodies that were passed on, in bytes. Up is to targets. */
export interface Passed {
  up: number;
  down: number;
}

/** What passing on works with. */
export interface Passing {
  readonly log: Log;
  readonly clients: ClientConnections;
  /** This proxy's name in `Via`. */
  readonly pseudonym: string;
  /** Counted here. */
  readonly passed: Passed;
}

/** The smallest status of an answer. Source: RFC 9110, 15. A parser takes three digits, Node writes none below. */
const STATUS_MIN = 100;

/**
 * Headers that an answer without a body must not have (RFC 9110, 8.6 and RFC 9112, 6.1), or its reader waits for one.
 */
const WITHOUT_BODY = ['content-length', 'transfer-encoding'] as const;

const INCOMPLETE = proxyError(502, 'http_response_incomplete', 'The target closed the connection before it answered.');
const BROKEN = proxyError(502, 'http_protocol_error', 'The target answered with something that is not HTTP.');

/** The stream is its own from now on. */
export class ForwardedRequest {
  readonly #exchange: Exchange;
  readonly #forwarded: Forwarded;
  readonly #stream: Duplex;
  readonly #passing: Passing;
  #interims = 0;
  /** The target's answer, once its headers went to the client. */
  #incoming: IncomingMessage | null = null;

  constructor(exchange: Exchange, forwarded: Forwarded, stream: Duplex, passing: Passing) {
    this.#exchange = exchange;
    this.#forwarded = forwarded;
    this.#stream = stream;
    this.#passing = passing;
  }

  /** Sends it on. Called once. */
  send(): void {
    this.#watchResponse();
    const outgoing = this.#outgoing();
    if (outgoing === null) {
      // a character that Node does not write
      this.#fail({ status: 400, message: 'The request has a character that must not be sent on.' });
      return;
    }
    refuseUpgrade(outgoing)
      .on('error', (error: NodeJS.ErrnoException) => this.#contain(() => this.#broken(error)))
      .on('information', (interim) => this.#contain(() => this.#inform(interim)))
      .on('response', (incoming) => this.#contain(() => this.#respond(incoming)));
    const { request } = this.#exchange;
    request.on('error', () => reset(this.#stream));
    request.on('data', (chunk: Buffer) => {
      this.#passing.passed.up += chunk.length;
    });
    request.pipe(outgoing);
    outgoing.flushHeaders();
  }

  #watchResponse(): void {
    const { request, response } = this.#exchange;
    response.once('close', () => {
      if (response.writableFinished) this.#stream.destroy();
      else reset(this.#stream);
    });
    response.once('finish', () => {
      // the answer came before the whole request: the rest is nobody's
      if (!request.complete) this.#passing.clients.dismiss(request.socket, '');
    });
  }

  /** Null: Node does not write it. */
  #outgoing(): ClientRequest | null {
    try {
      return httpRequest({
        createConnection: () => this.#stream,
        method: this.#exchange.request.method,
        path: this.#forwarded.path,
        headers: headersOf(this.#exchange.request, this.#forwarded, this.#passing.pseudonym),
        setHost: false,
        maxHeaderSize: HEADER_BYTES_MAX,
      });
    } catch {
      return null;
    }
  }

  #broken(error: NodeJS.ErrnoException): void {
    if (this.#incoming?.complete === true) reset(this.#stream); // what came after a whole answer is nobody's
    else this.#fail(isOtherProtocol(error) ? BROKEN : INCOMPLETE);
  }

  #inform({ statusCode, rawHeaders, httpVersion }: InformationEvent): void {
    const { request, response } = this.#exchange;
    this.#interims += 1;
    if (this.#interims > INTERIMS_MAX || statusCode === 101) this.#fail(BROKEN);
    else if (request.httpVersion === '1.1' && !response.headersSent)
      inform(response, statusCode, passedOn(rawHeaders, httpVersion, this.#passing.pseudonym, WITHOUT_BODY));
  }

  #respond(incoming: IncomingMessage): void {
    const { response } = this.#exchange;
    const { passed, pseudonym } = this.#passing;
    const status = incoming.statusCode ?? 0;
    if (status < STATUS_MIN) return this.#fail(BROKEN);
    response.sendDate = false;
    response.writeHead(
      status,
      passedReason(incoming.statusMessage),
      passedOn(incoming.rawHeaders, incoming.httpVersion, pseudonym, status === 204 ? WITHOUT_BODY : []),
    );
    this.#incoming = incoming;
    incoming.on('error', () => this.#contain(() => this.#fail(INCOMPLETE)));
    incoming.on('data', (chunk: Buffer) => {
      passed.down += chunk.length;
    });
    incoming.pipe(response);
  }

  #fail(said: Answer): void {
    reset(this.#stream);
    answer(this.#exchange, said, this.#passing.clients);
  }

  /** Runs what a target set off. */
  readonly #contain = contained(
    (run: () => void) => run(),
    (error) => {
      this.#passing.log.warn({ error }, 'an answer through the HTTP proxy broke off');
      reset(this.#stream);
      reset(this.#exchange.request.socket);
    },
  );
}

/** Whether what the target said is no answer of HTTP. */
function isOtherProtocol(error: NodeJS.ErrnoException): boolean {
  return error instanceof UnaskedUpgrade || error.code?.startsWith('HPE_') === true;
}

/** Our word comes first: host and framing are those that were judged. */
function headersOf(request: IncomingMessage, { authority }: Forwarded, pseudonym: string): string[] {
  const isChunked = values(request, 'transfer-encoding').length > 0;
  return [
    'Host',
    authority,
    ...passedOn(request.rawHeaders, request.httpVersion, pseudonym, ['host']),
    ...(isChunked ? ['Transfer-Encoding', 'chunked'] : []),
    'Connection',
    'close',
  ];
}

/** Passes an interim answer on; 101 does not come here. */
function inform(response: ServerResponse, status: number, headers: string[]): void {
  if (status === 100) response.writeContinue();
  else response.writeInformation(status, headers);
}
