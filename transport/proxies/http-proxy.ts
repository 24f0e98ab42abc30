/** An HTTP proxy: CONNECT for any TCP, and absolute-form requests for plain http. */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { contained } from '../net/streams/contained.ts';
import { reset } from '../net/streams/reset.ts';
import { createCounters, type BlockReason } from './counters.ts';
import type { Passed } from './forwarded-request.ts';
import { ClientConnections } from './client-connections.ts';
import { admissionAnswer, dialAnswer, rawAnswer, USAGE, type Answer } from './http-answers.ts';
import { answer, type Exchange } from './http-exchange.ts';
import { Forwarder } from './http-forward.ts';
import { credentialsOf, readConnect, readForwarded } from './http-requests.ts';
import { HEADER_BYTES_MAX } from './limits.ts';
import { boundPipelining } from '../net/streams/pipelining.ts';
import { clientAddress, type Admission } from './ports.ts';
import type { ProxyFront, Serving } from './serving.ts';
import { SOCKS_VERSION } from './socks5-wire.ts';
import { createDial, openTunnel, type Answers, type Dial } from './tunnels.ts';

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

/** Equal servers, as many as addresses are listened on. */
export class HttpProxy implements ProxyFront {
  readonly servers: readonly Server[];
  readonly counters = createCounters();
  readonly clients: ClientConnections;
  readonly #serving: Serving;
  readonly #pseudonym = `edge-${randomBytes(6).toString('hex')}`;
  /** Connections on which an answer is under way. */
  readonly #busy = new WeakSet<Socket>();
  readonly #dial: Dial;
  readonly #forwarder: Forwarder;

  constructor(serving: Serving, count: number) {
    const { limits, log } = serving;
    this.#serving = serving;
    this.clients = new ClientConnections(limits, this.counters, (socket) => this.#late(socket));
    this.#dial = createDial(serving, this.counters);
    this.#forwarder = new Forwarder({
      limits,
      log,
      dial: this.#dial,
      clients: this.clients,
      pseudonym: this.#pseudonym,
    });
    this.servers = Array.from({ length: count }, () => this.#server());
  }

  /** Bodies of absolute-form requests so far. */
  get passed(): Readonly<Passed> {
    return this.#forwarder.passed;
  }

  #server(): Server {
    const { handshakeMsMax, keepAliveMsMax } = this.#serving.limits;
    const server = createServer({
      noDelay: true,
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: handshakeMsMax + NODE_HEADERS_MS,
      requestTimeout: 0,
      keepAliveTimeout: keepAliveMsMax,
      connectionsCheckingInterval: NODE_HEADERS_MS,
      requireHostHeader: false,
      insecureHTTPParser: false,
    });
    server.maxHeadersCount = 0; // Node would drop what is beyond and serve the rest: the lines are counted by us
    Object.assign(server, { httpAllowHalfOpen: true }); // a client that has said all may still hear the answer
    const asked = contained(
      (request: IncomingMessage, response: ServerResponse) => this.#onRequest({ request, response }),
      (error, request) => this.#broke(error, request.socket),
    );
    return boundPipelining(server, { events: ['request', 'checkContinue'], refuse: ignore })
      .on('connection', (socket) => void this.clients.enter(socket))
      .on('request', asked)
      .on('checkContinue', asked)
      .on(
        'connect',
        contained(
          (request, socket, head) => this.#onConnect(request, socket as Socket, head),
          (error, _request, socket) => this.#broke(error, socket as Socket),
        ),
      )
      .on(
        'clientError',
        contained(
          (error, socket) => this.#onClientError(error, socket as Socket),
          (error, _problem, socket) => this.#broke(error, socket as Socket),
        ),
      );
  }

  #onRequest(exchange: Exchange): void {
    const { request, response } = exchange;
    const { socket } = request;
    response.on('error', ignore);
    if (this.#busy.has(socket)) return this.#refuseSecond(exchange);
    this.#busy.add(socket);
    response.once('close', () => this.#busy.delete(socket));
    // whoever takes this for a web server needs no password to be told
    if (request.url?.startsWith('/') === true) return this.#refuse(exchange, NO_PROXY_REQUEST, 'malformed');
    const admission = this.#admit(request);
    if (!admission.ok) return this.#refuse(exchange, admissionAnswer(admission.reason), admission.reason);
    this.clients.admit(socket);
    const read = readForwarded(request, this.#pseudonym);
    if (!read.ok) return this.#refuse(exchange, read.answer, read.reason);
    return this.#forwarder.send(exchange, admission.username, read);
  }

  /** Its answer waits for the one before; nothing is read after it. */
  #refuseSecond({ request: { socket }, response }: Exchange): void {
    this.#blocked(socket, 'unsupported');
    response.shouldKeepAlive = false;
    socket.pause();
    response.writeHead(ONE_AT_A_TIME.status).end();
  }

  #refuse(exchange: Exchange, said: Answer, reason: BlockReason): void {
    this.#blocked(exchange.request.socket, reason);
    answer(exchange, said, this.clients);
  }

  #onConnect(request: IncomingMessage, socket: Socket, head: Buffer): void {
    if (this.#busy.has(socket)) return reset(socket); // an answer is under way on it
    const admission = this.#admit(request);
    if (!admission.ok) return this.#dismiss(socket, admissionAnswer(admission.reason), admission.reason);
    this.clients.admit(socket);
    const read = readConnect(request, this.#pseudonym);
    if (!read.ok) return this.#dismiss(socket, read.answer, read.reason);
    const { joins } = this.#serving;
    const work = { dial: this.#dial, joins, clients: this.clients };
    return openTunnel(socket, { username: admission.username, ...read.target }, head, ANSWERS, work);
  }

  /** Refuses on a socket that Node's server let go of. */
  #dismiss(socket: Socket, said: Answer, reason: BlockReason): void {
    this.#blocked(socket, reason);
    this.clients.dismiss(socket, rawAnswer(said));
  }

  #onClientError(error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }, socket: Socket): void {
    if (socket.writableEnded || error.code === 'ECONNRESET') return;
    const isSlow = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    this.#blocked(socket, isSlow ? 'slow' : 'malformed');
    const first = error.rawPacket?.[0];
    if (this.#busy.has(socket)) reset(socket);
    else if (first === SOCKS_VERSION || first === SOCKS_VERSION - 1) this.clients.dismiss(socket, '');
    else
      this.clients.dismiss(
        socket,
        rawAnswer(isSlow ? SLOW : error.code === 'HPE_HEADER_OVERFLOW' ? TOO_LARGE : NOT_HTTP),
      );
  }

  #late(socket: Socket): void {
    if (this.#busy.has(socket)) reset(socket);
    else this.clients.dismiss(socket, rawAnswer(SLOW));
  }

  #admit(request: IncomingMessage): Admission {
    const credentials = credentialsOf(request.headers['proxy-authorization']);
    return this.#serving.ports.admit(credentials, clientAddress(request.socket));
  }

  #blocked(socket: Socket, reason: BlockReason): void {
    this.counters.blocked[reason] += 1;
    this.#serving.log.debug({ client: clientAddress(socket), reason }, 'an HTTP proxy client was turned away');
  }

  #broke(error: unknown, socket: Socket): void {
    this.#serving.log.warn({ error }, 'a request to the HTTP proxy broke off');
    reset(socket);
  }
}

function ignore(): void {}
