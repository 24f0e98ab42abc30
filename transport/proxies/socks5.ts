/** A SOCKS5 server: greeting, login, request, dial, and only then the reply. */
import { createServer, type Server, type Socket } from 'node:net';
import { contained } from '../net/streams/contained.ts';
import { reset } from '../net/streams/reset.ts';
import { createCounters, type BlockReason, type ProxyCounters } from './counters.ts';
import { createGuests, type Guests } from './guests.ts';
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
import { createDial, openTunnel, type Answers, type Serving } from './tunnels.ts';

/** A server that does not listen yet, what it counts, and who is connected. */
export interface ProxyFront {
  readonly servers: readonly Server[];
  readonly counters: ProxyCounters;
  readonly guests: Guests;
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

/** Makes as many equal servers as addresses are listened on. */
export function createSocks5Proxy(serving: Serving, count: number): ProxyFront {
  const counters = createCounters();
  const guests = createGuests(serving.limits, counters, (socket) => guests.dismiss(socket, NO_BYTES));
  const work = { dial: createDial(serving, counters), joins: serving.joins, guests };

  function greet(socket: Socket): void {
    if (!guests.enter(socket)) return;
    let read: (bytes: Buffer) => number | null = greeting;
    let held: Buffer = NO_BYTES;
    let username = '';
    const heard = contained(take, broke);
    socket.on('data', heard);
    socket.on('end', leave);

    function broke(error: unknown): void {
      serving.log.warn({ error }, 'a request to the SOCKS5 proxy broke off');
      reset(socket);
    }

    /** The one listener of the handshake. What is not enough for a message is held; a message has 513 bytes at most. */
    function take(chunk: Buffer): void {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      while (held.length > 0) {
        const bytes = read(held);
        if (bytes === null) return;
        held = held.subarray(bytes);
      }
    }

    function greeting(bytes: Buffer): number | null {
      const [version = 0] = bytes;
      if (version !== SOCKS_VERSION) return end('malformed', version >= 65 && version <= 90 ? HTTP_HINT : NO_BYTES);
      const greeted = readGreeting(bytes);
      if (greeted === null) return null;
      if (greeted.message.includes(METHOD.password)) {
        read = login;
        socket.write(CHOSEN.password);
        return greeted.bytes;
      }
      const reason = greeted.message.includes(METHOD.none) ? admitted(null) : 'credentials';
      if (reason !== null) return end(reason, CHOSEN.unacceptable);
      read = request;
      socket.write(CHOSEN.none);
      return greeted.bytes;
    }

    function login(bytes: Buffer): number | null {
      const shown = readLogin(bytes);
      if (shown === null) return null;
      const reason = shown.message === null ? 'malformed' : admitted(shown.message);
      if (reason !== null) return end(reason, TURNED_AWAY);
      read = request;
      socket.write(LET_IN);
      return shown.bytes;
    }

    function admitted(credentials: Credentials | null): Exclude<Admission, { ok: true }>['reason'] | null {
      const admission = serving.ports.admit(credentials, clientAddress(socket));
      if (!admission.ok) return admission.reason;
      ({ username } = admission);
      return null;
    }

    function request(bytes: Buffer): number | null {
      if (bytes[0] !== SOCKS_VERSION) return end('malformed', replyOf(REPLY.general));
      const asked = readRequest(bytes);
      if (asked === null) return null;
      const {
        message: { host, port },
      } = asked;
      const refusal = refusalOf(asked.message);
      if (refusal !== null || host === null)
        return end(refusal === REPLY.general ? 'malformed' : 'unsupported', replyOf(refusal ?? REPLY.general));
      socket.off('data', heard);
      socket.off('end', leave);
      guests.admit(socket);
      openTunnel(socket, { username, host, port }, bytes.subarray(asked.bytes), ANSWERS, work);
      return bytes.length;
    }

    function end(reason: BlockReason, lastWord: Buffer | string): null {
      counters.blocked[reason] += 1;
      serving.log.debug({ client: clientAddress(socket), reason }, 'a SOCKS5 client was turned away');
      socket.off('data', heard);
      guests.dismiss(socket, lastWord);
      return null;
    }

    function leave(): void {
      guests.dismiss(socket, NO_BYTES);
    }
  }

  return {
    servers: Array.from({ length: count }, () => createServer({ allowHalfOpen: true, noDelay: true }, greet)),
    counters,
    guests,
  };
}

/** The reply to a request that is not dialled; null: it is. */
function refusalOf({ command, isKindKnown, host }: SocksRequest): number | null {
  if (command !== CONNECT) return REPLY.commandNotSupported;
  if (!isKindKnown) return REPLY.addressTypeNotSupported;
  return host === null ? REPLY.general : null;
}
