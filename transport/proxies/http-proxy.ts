/** An HTTP proxy: CONNECT for any TCP, and absolute-form requests for plain http. */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { contained } from '../net/streams/contained.ts';
import { reset } from '../net/streams/reset.ts';
import { createCounters, type BlockReason } from './counters.ts';
import { createGuests } from './guests.ts';
import { admissionAnswer, dialAnswer, rawAnswer, USAGE, type Answer } from './http-answers.ts';
import { answer, createForward, type Passed } from './http-forward.ts';
import { credentialsOf, readConnect, readForwarded } from './http-requests.ts';
import { HEADER_BYTES_MAX } from './limits.ts';
import { clientAddress, type Admission } from './ports.ts';
import { SOCKS_VERSION } from './socks5-wire.ts';
import type { ProxyFront } from './socks5.ts';
import { createDial, openTunnel, type Answers, type Serving } from './tunnels.ts';

/**
 * Time that Node gives the headers of a later request on a kept connection, on top of what the first one has, in ms: so
 * that the first is ours to end.
 */
const NODE_HEADERS_MS = 1_000;

const ANSWERS: Answers = {
  connected: 'HTTP/1.1 200 Connection established\r\n\r\n',
  refused: (failure, message) => rawAnswer(dialAnswer(failure, message)),
};

const SLOW: Answer = { status: 408, message: 'The request took too long to come.' };
const TOO_LARGE: Answer = { status: 431, message: `The headers of a request may have ${HEADER_BYTES_MAX} bytes.` };
const NOT_HTTP: Answer = { status: 400, message: `The request is not HTTP as it should be. ${USAGE}` };
const NO_PROXY_REQUEST: Answer = { status: 400, message: USAGE };
const ONE_AT_A_TIME: Answer = { status: 400, message: 'Send one request at a time on a connection.' };

/** Makes as many equal servers as addresses are listened on. */
export function createHttpProxy(serving: Serving, count: number): ProxyFront & { readonly passed: Readonly<Passed> } {
  const { limits, joins, log } = serving;
  const pseudonym = `edge-${randomBytes(6).toString('hex')}`;
  const counters = createCounters();
  const busy = new WeakSet<Socket>();
  const guests = createGuests(limits, counters, (socket) =>
    busy.has(socket) ? reset(socket) : guests.dismiss(socket, rawAnswer(SLOW)),
  );
  const dial = createDial(serving, counters);
  const { forward, passed } = createForward({ limits, log, dial, guests, pseudonym });

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const refuse = (said: Answer, reason: BlockReason): void => {
      blocked(socket, reason);
      answer({ request, response }, said, guests);
    };
    response.on('error', ignore);
    if (busy.has(socket)) {
      // its answer waits for the one before; nothing is read after it
      blocked(socket, 'unsupported');
      response.shouldKeepAlive = false;
      socket.pause();
      response.writeHead(ONE_AT_A_TIME.status).end();
      return;
    }
    busy.add(socket);
    response.once('close', () => busy.delete(socket));
    // whoever takes this for a web server needs no password to be told
    if (request.url?.startsWith('/') === true) return refuse(NO_PROXY_REQUEST, 'malformed');
    const admission = admit(request);
    if (!admission.ok) return refuse(admissionAnswer(admission.reason), admission.reason);
    guests.admit(socket);
    const read = readForwarded(request, pseudonym);
    if (!read.ok) return refuse(read.answer, read.reason);
    return forward({ request, response }, admission.username, read);
  }

  function onConnect(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const refuse = (said: Answer, reason: BlockReason): void => {
      blocked(socket, reason);
      guests.dismiss(socket, rawAnswer(said));
    };
    if (busy.has(socket)) return reset(socket); // an answer is under way on it
    const admission = admit(request);
    if (!admission.ok) return refuse(admissionAnswer(admission.reason), admission.reason);
    guests.admit(socket);
    const read = readConnect(request, pseudonym);
    if (!read.ok) return refuse(read.answer, read.reason);
    return openTunnel(socket, { username: admission.username, ...read.target }, head, ANSWERS, { dial, joins, guests });
  }

  function onClientError(error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }, socket: Socket): void {
    if (socket.writableEnded || error.code === 'ECONNRESET') return;
    const isSlow = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    blocked(socket, isSlow ? 'slow' : 'malformed');
    const first = error.rawPacket?.[0];
    if (busy.has(socket)) reset(socket);
    else if (first === SOCKS_VERSION || first === SOCKS_VERSION - 1) guests.dismiss(socket, '');
    else guests.dismiss(socket, rawAnswer(isSlow ? SLOW : error.code === 'HPE_HEADER_OVERFLOW' ? TOO_LARGE : NOT_HTTP));
  }

  function admit(request: IncomingMessage): Admission {
    return serving.ports.admit(credentialsOf(request.headers['proxy-authorization']), clientAddress(request.socket));
  }

  function blocked(socket: Socket, reason: BlockReason): void {
    counters.blocked[reason] += 1;
    log.debug({ client: clientAddress(socket), reason }, 'an HTTP proxy client was turned away');
  }

  function broke(error: unknown, socket: Socket): void {
    log.warn({ error }, 'a request to the HTTP proxy broke off');
    reset(socket);
  }

  function server(): Server {
    const made = createServer({
      noDelay: true,
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: limits.handshakeMsMax + NODE_HEADERS_MS,
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveMsMax,
      connectionsCheckingInterval: NODE_HEADERS_MS,
      requireHostHeader: false,
      insecureHTTPParser: false,
    });
    made.maxHeadersCount = 0; // Node would drop what is beyond and serve the rest: the lines are counted by us
    Object.assign(made, { httpAllowHalfOpen: true }); // a client that has said all may still hear the answer
    const asked = contained(onRequest, (error, request) => broke(error, request.socket));
    return made
      .on('connection', (socket) => void guests.enter(socket))
      .on('request', asked)
      .on('checkContinue', asked)
      .on(
        'connect',
        contained(
          (request, socket, head) => onConnect(request, socket as Socket, head),
          (error, _request, socket) => broke(error, socket as Socket),
        ),
      )
      .on(
        'clientError',
        contained(
          (error, socket) => onClientError(error, socket as Socket),
          (error, _problem, socket) => broke(error, socket as Socket),
        ),
      );
  }

  return { servers: Array.from({ length: count }, server), counters, guests, passed };
}

function ignore(): void {}
