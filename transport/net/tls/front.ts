/**
 * What stands before a server of HTTPS: whoever speaks plain HTTP to its port is told so, and whoever says nothing is
 * hung up on.
 */
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ServedPair } from './certificate-watch.ts';

/** A client has so long for its first byte, and then for the handshake, in ms: as for the headers of a request. */
export const HANDSHAKE_MS_MAX = 30_000;

/** What every context has: the ciphers are Node's. */
const CONTEXT = { minVersion: 'TLSv1.2' } as const;

/** First byte of a handshake of TLS. Source: RFC 8446, 5.1. */
const HANDSHAKE = 0x16;

/** Methods of HTTP begin with a capital letter. */
const [CAPITAL_MIN, CAPITAL_MAX] = [0x41, 0x5a];

/** A header that names where the client went. What is not plain is not repeated. */
const HOST = /\r\nhost: *([\w.-]{1,253}(?::\d{1,5})?|\[[\da-f:.]{2,45}\](?::\d{1,5})?) *\r\n/iu;

/** Where those are counted that are turned away. */
export interface TurnedAway {
  plainHttp: number;
  failedHandshakes: number;
}

/** What is done with those who speak plain HTTP. `host`: where they went by their word, or null. */
export type AnswerPlainHttp = (socket: Socket, host: string | null) => void;

/** What a server is made with to show this pair. */
export function tlsOptions({ certificate, key }: Pick<ServedPair, 'certificate' | 'key'>) {
  return { ...CONTEXT, cert: certificate, key, handshakeTimeout: HANDSHAKE_MS_MAX } as const;
}

/** In front of one server. */
export class TlsFront {
  readonly #server: Server;
  readonly #answer: AnswerPlainHttp;
  /** Those that said nothing yet. */
  readonly #silent = new Set<Socket>();
  readonly #all = new Set<Socket>();
  readonly #turnedAway: TurnedAway;

  /** Takes over who comes to the server, which does not listen yet. */
  constructor(server: Server, answer: AnswerPlainHttp, turnedAway: TurnedAway) {
    this.#server = server;
    this.#answer = answer;
    this.#turnedAway = turnedAway;
    const toTls = server.listeners('connection') as ((socket: Socket) => void)[];
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      this.#accept(socket, () => {
        for (const listener of toTls) listener.call(server, socket);
      });
    });
    // Node would have them answered in plain text, inside a connection that is to be encrypted.
    server.removeAllListeners('tlsClientError');
    server.on('tlsClientError', (_error: Error, socket: TLSSocket) => {
      this.#turnedAway.failedHandshakes += 1;
      socket.destroy();
    });
  }

  /** New connections are shown this pair. Those that are there go on. */
  show({ certificate, key }: ServedPair): void {
    this.#server.setSecureContext({ ...CONTEXT, cert: certificate, key });
  }

  /** Hangs up on those that said nothing yet. */
  hangUpOnSilent(): void {
    for (const socket of this.#silent) socket.destroy();
  }

  /** Hangs up on all, also in the middle of a handshake. */
  hangUp(): void {
    for (const socket of this.#all) socket.destroy();
  }

  #accept(socket: Socket, toTls: () => void): void {
    const destroy = (): void => void socket.destroy();
    this.#silent.add(socket);
    this.#all.add(socket);
    const timer = setTimeout(destroy, HANDSHAKE_MS_MAX);
    socket.once('close', () => {
      clearTimeout(timer);
      this.#silent.delete(socket);
      this.#all.delete(socket);
    });
    socket.on('error', destroy);
    socket.once('end', destroy);
    socket.once('data', (first: Buffer) => {
      clearTimeout(timer);
      this.#silent.delete(socket);
      socket.off('end', destroy);
      const [byte = 0] = first;
      if (byte === HANDSHAKE) {
        socket.pause();
        socket.unshift(first);
        return toTls();
      }
      if (byte < CAPITAL_MIN || byte > CAPITAL_MAX) return destroy();
      this.#turnedAway.plainHttp += 1;
      this.#answer(socket, HOST.exec(first.toString('latin1'))?.[1] ?? null);
    });
  }
}
