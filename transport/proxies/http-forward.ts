/** Absolute-form requests: one stream to the target for each, request and answer passed on as they come. */
import {
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type InformationEvent,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { contained } from '../net/streams/contained.ts';
import { reset } from '../net/streams/reset.ts';
import type { Guests } from './guests.ts';
import { createDeadlines } from './deadlines.ts';
import { answerHeaders, dialAnswer, proxyError, rawAnswer, reasonOf, type Answer } from './http-answers.ts';
import { passedOn, passedReason, values, type Forwarded } from './http-requests.ts';
import { HEADER_BYTES_MAX, INTERIMS_MAX } from './limits.ts';
import type { Dial, Serving } from './tunnels.ts';

/** Bodies that were passed on, in bytes. Up is to targets. */
export interface Passed {
  up: number;
  down: number;
}

/** What forwarding works with. */
export interface Forwarding extends Pick<Serving, 'limits' | 'log'> {
  readonly dial: Dial;
  readonly guests: Guests;
  /** This proxy's name in `Via`. */
  readonly pseudonym: string;
}

/** One request and its answer. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The smallest status of an answer. Source: RFC 9110, 15. A parser takes three digits, Node writes none below. */
const STATUS_MIN = 100;

/**
 * Headers that an answer without a body must not have (RFC 9110, 8.6 and RFC 9112, 6.1), or its reader waits for one.
 */
const WITHOUT_BODY = ['content-length', 'transfer-encoding'] as const;

const INCOMPLETE = proxyError(502, 'http_response_incomplete', 'The target closed the connection before it answered.');
const BROKEN = proxyError(502, 'http_protocol_error', 'The target answered with something that is not HTTP.');

/**
 * Answers by the proxy itself, on a request that Node's server still has. A body that nobody will read ends the
 * connection.
 */
export function answer({ request, response }: Exchange, said: Answer, guests: Guests): void {
  if (response.headersSent || response.destroyed) return reset(request.socket);
  if (!hasBody(request)) {
    response.writeHead(said.status, reasonOf(said.status), answerHeaders(said)).end(`${said.message}\n`);
    return undefined;
  }
  request.resume();
  return guests.dismiss(request.socket, rawAnswer(said));
}

/** Makes what sends admitted requests on, and what it has counted so far. */
export function createForward(forwarding: Forwarding): {
  readonly passed: Readonly<Passed>;
  readonly forward: (exchange: Exchange, username: string, target: Forwarded) => void;
} {
  const { limits, dial, guests } = forwarding;
  const passed: Passed = { up: 0, down: 0 };
  const lives = createDeadlines<Exchange>(limits.lifeMsMax, ({ request }) => reset(request.socket));

  return {
    passed,
    forward(exchange, username, forwarded) {
      const { request, response } = exchange;
      lives.add(exchange);
      response.once('close', () => lives.delete(exchange));
      response.setTimeout(limits.idleMsMax, () => reset(request.socket));
      const giveUp = dial({ username, ...forwarded.target }, (dialled) => {
        response.off('close', giveUp);
        if (!dialled.ok) return answer(exchange, dialAnswer(dialled.failure, dialled.message), guests);
        return pass(exchange, forwarded, dialled.stream, forwarding, passed);
      });
      response.once('close', giveUp);
    },
  };
}

/** Beyond this no byte of the target is trusted: whatever it sets off ends this exchange alone. */
function pass(
  exchange: Exchange,
  forwarded: Forwarded,
  stream: Duplex,
  { guests, pseudonym, log }: Forwarding,
  passed: Passed,
): void {
  const { request, response } = exchange;
  let interims = 0;
  let isAnswered = (): boolean => false;
  response.once('close', () => {
    if (response.writableFinished) stream.destroy();
    else reset(stream);
  });
  response.once('finish', () => {
    // the answer came before the whole request: the rest is nobody's
    if (!request.complete) guests.dismiss(request.socket, '');
  });

  let outgoing: ClientRequest;
  try {
    outgoing = httpRequest({
      createConnection: () => stream,
      method: request.method,
      path: forwarded.path,
      headers: headersOf(request, forwarded, pseudonym),
      setHost: false,
      maxHeaderSize: HEADER_BYTES_MAX,
    });
  } catch {
    // a character that Node does not write
    answer(exchange, { status: 400, message: 'The request has a character that must not be sent on.' }, guests);
    return reset(stream);
  }
  outgoing.on(
    'error',
    contained((error: NodeJS.ErrnoException) => {
      if (isAnswered()) reset(stream); // what came after a whole answer is nobody's
      else fail(error.code?.startsWith('HPE_') === true ? BROKEN : INCOMPLETE);
    }, broke),
  );
  outgoing.on(
    'upgrade',
    contained(() => fail(BROKEN), broke),
  ); // nobody asked for one
  outgoing.on(
    'information',
    contained((interim: InformationEvent) => {
      interims += 1;
      if (interims > INTERIMS_MAX || interim.statusCode === 101) fail(BROKEN);
      else if (request.httpVersion === '1.1' && !response.headersSent)
        inform(
          response,
          interim.statusCode,
          passedOn(interim.rawHeaders, interim.httpVersion, pseudonym, WITHOUT_BODY),
        );
    }, broke),
  );
  outgoing.on(
    'response',
    contained((incoming: IncomingMessage) => {
      const status = incoming.statusCode ?? 0;
      if (status < STATUS_MIN) return fail(BROKEN);
      response.sendDate = false;
      response.writeHead(
        status,
        passedReason(incoming.statusMessage),
        passedOn(incoming.rawHeaders, incoming.httpVersion, pseudonym, status === 204 ? WITHOUT_BODY : []),
      );
      isAnswered = () => incoming.complete;
      incoming.on(
        'error',
        contained(() => fail(INCOMPLETE), broke),
      );
      incoming.on('data', (chunk: Buffer) => {
        passed.down += chunk.length;
      });
      incoming.pipe(response);
    }, broke),
  );
  request.on('error', () => reset(stream));
  request.on('data', (chunk: Buffer) => {
    passed.up += chunk.length;
  });
  request.pipe(outgoing);
  outgoing.flushHeaders();

  function fail(said: Answer): void {
    reset(stream);
    answer(exchange, said, guests);
  }

  function broke(error: unknown): void {
    log.warn({ error }, 'an answer through the HTTP proxy broke off');
    reset(stream);
    reset(request.socket);
  }
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

function hasBody(request: IncomingMessage): boolean {
  return (
    values(request, 'transfer-encoding').length > 0 ||
    values(request, 'content-length').some((length) => length !== '0')
  );
}
