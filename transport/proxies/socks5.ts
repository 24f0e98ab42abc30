/** A SOCKS5 server: greeting, login, request, dial, and only then the reply. */
import { createServer, type Socket } from 'node:net';
import { createCounters, type BlockReason, type ProxyCounters } from './counters.ts';
import { ClientConnections } from './client-connections.ts';
import type { ProxyFront, Serving } from './serving.ts';
import { createDial, openTunnel, type Answers, type Dial } from './tunnels.ts';
import { contained } from '../net/streams/contained.ts';
import { reset } from '../net/streams/reset.ts';
import { clientAddress, type Admission, type Credentials } from './ports.ts';
import {
  CONNECT,
  DIAL_REPLY,
  loginReply,
  METHOD,
  readGreeting,
  readLogin,
  readRequest,
  REPLY,
  replyOf,
  SOCKS_VERSION,
  type SocksRequest,
} from './socks5-wire.ts';

/** Makes as many equal servers as addresses are listened on. */
export function createSocks5Proxy(serving: Serving, count: number): ProxyFront {
  const counters = createCounters();
  const clients = new ClientConnections(serving.limits, counters, (socket) => clients.dismiss(socket, ''));
  const ports = { ...serving, counters, clients, dial: createDial(serving, counters) };
  return {
    servers: Array.from({ length: count }, () =>
      createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
        if (clients.enter(socket)) new Handshake(socket, ports).start();
      }),
    ),
    counters,
    clients,
  };
}

/** What a handshake works with. */
interface HandshakePorts extends Pick<Serving, 'ports' | 'log' | 'joins'> {
  readonly counters: ProxyCounters;
  readonly clients: ClientConnections;
  readonly dial: Dial;
}

const CHOSEN = {
  none: Buffer.from([SOCKS_VERSION, METHOD.none]),
  password: Buffer.from([SOCKS_VERSION, METHOD.password]),
  unacceptable: Buffer.from([SOCKS_VERSION, METHOD.unacceptable]),
};
const LET_IN = loginReply(true);
const TURNED_AWAY = loginReply(false);
const NO_BYTES = Buffer.alloc(0);

/**
 * What an HTTP client is told. Its methods are upper-case words, so their first byte is a letter, which is no version
 * of SOCKS.
 */
const HTTP_HINT =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\nThis port speaks SOCKS5: use a socks5h:// URL, or the port of the HTTP proxy.\n';

const ANSWERS: Answers = {
  connected: replyOf(REPLY.succeeded),
  refused: (failure) => replyOf(DIAL_REPLY[failure]),
};

/** One client, from its first byte until its tunnel is opened or it is turned away. Nothing is read before `start`. */
class Handshake {
  readonly #socket: Socket;
  readonly #ports: HandshakePorts;
  /** The message that comes next. */
  #awaited: 'greeting' | 'login' | 'request' = 'greeting';
  #held: Buffer = NO_BYTES;
  #username = '';

  constructor(socket: Socket, ports: HandshakePorts) {
    this.#socket = socket;
    this.#ports = ports;
  }

  /** Called once. */
  start(): void {
    this.#socket.on('data', this.#heard);
    this.#socket.on('end', this.#left);
  }

  /** The one listener of the handshake. */
  readonly #heard = contained(
    (chunk: Buffer) => this.#take(chunk),
    (error) => {
      this.#ports.log.warn({ error }, 'a request to the SOCKS5 proxy broke off');
      reset(this.#socket);
    },
  );

  readonly #left = (): void => this.#ports.clients.dismiss(this.#socket, NO_BYTES);

  /** What is not enough for a message is held; a message has 513 bytes at most. */
  #take(chunk: Buffer): void {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    while (this.#held.length > 0) {
      const bytes = this.#read(this.#held);
      if (bytes === null) return;
      this.#held = this.#held.subarray(bytes);
    }
  }

  /** How many bytes the message has that comes next; null: it is not all there yet, or was the last one. */
  #read(bytes: Buffer): number | null {
    switch (this.#awaited) {
      case 'greeting':
        return this.#greeting(bytes);
      case 'login':
        return this.#login(bytes);
      case 'request':
        return this.#request(bytes);
      default:
        return this.#awaited satisfies never;
    }
  }

  #greeting(bytes: Buffer): number | null {
    const [version = 0] = bytes;
    if (version !== SOCKS_VERSION)
      return this.#turnAway('malformed', version >= 65 && version <= 90 ? HTTP_HINT : NO_BYTES);
    const greeted = readGreeting(bytes);
    if (greeted === null) return null;
    if (greeted.message.includes(METHOD.password)) {
      this.#awaited = 'login';
      this.#socket.write(CHOSEN.password);
      return greeted.bytes;
    }
    const reason = greeted.message.includes(METHOD.none) ? this.#admitted(null) : 'credentials';
    if (reason !== null) return this.#turnAway(reason, CHOSEN.unacceptable);
    this.#awaited = 'request';
    this.#socket.write(CHOSEN.none);
    return greeted.bytes;
  }

  #login(bytes: Buffer): number | null {
    const shown = readLogin(bytes);
    if (shown === null) return null;
    const reason = shown.message === null ? 'malformed' : this.#admitted(shown.message);
    if (reason !== null) return this.#turnAway(reason, TURNED_AWAY);
    this.#awaited = 'request';
    this.#socket.write(LET_IN);
    return shown.bytes;
  }

  /** Null: it may come in. */
  #admitted(credentials: Credentials | null): Exclude<Admission, { ok: true }>['reason'] | null {
    const admission = this.#ports.ports.admit(credentials, clientAddress(this.#socket));
    if (!admission.ok) return admission.reason;
    this.#username = admission.username;
    return null;
  }

  #request(bytes: Buffer): number | null {
    if (bytes[0] !== SOCKS_VERSION) return this.#turnAway('malformed', replyOf(REPLY.general));
    const asked = readRequest(bytes);
    if (asked === null) return null;
    const { host, port } = asked.message;
    const refusal = refusalOf(asked.message);
    if (refusal !== null || host === null)
      return this.#turnAway(refusal === REPLY.general ? 'malformed' : 'unsupported', replyOf(refusal ?? REPLY.general));
    this.#socket.off('data', this.#heard);
    this.#socket.off('end', this.#left);
    this.#ports.clients.admit(this.#socket);
    const request = { username: this.#username, host, port };
    openTunnel(this.#socket, request, bytes.subarray(asked.bytes), ANSWERS, this.#ports);
    return bytes.length;
  }

  #turnAway(reason: BlockReason, lastWord: Buffer | string): null {
    const { counters, clients, log } = this.#ports;
    counters.blocked[reason] += 1;
    log.debug({ client: clientAddress(this.#socket), reason }, 'a SOCKS5 client was turned away');
    this.#socket.off('data', this.#heard);
    clients.dismiss(this.#socket, lastWord);
    return null;
  }
}

/** The reply to a request that is not dialled; null: it is. */
function refusalOf({ command, isKindKnown, host }: SocksRequest): number | null {
  if (command !== CONNECT) return REPLY.commandNotSupported;
  if (!isKindKnown) return REPLY.addressTypeNotSupported;
  return host === null ? REPLY.general : null;
}
