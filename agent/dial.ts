/** Connections to admins over `ws`. */
import { WebSocket } from 'ws';
import type { ClientOptions } from 'ws';
import { FRAME_BYTES_MAX } from '../transport/protocol/limits.ts';
import { SESSION_PATH, SESSION_SUBPROTOCOL } from '../transport/protocol/version.ts';
import type { Dial, Link, LinkOwner } from './ports.ts';
import { networkProblem } from './problem.ts';

/** An admin that does not answer the upgrade within this time is given up, in ms. */
const HANDSHAKE_MS_MAX = 10_000;

/**
 * Dials with the token in the Authorization header. `options` are for those who need another source address or
 * certificate authorities. Redirects are not followed: they would carry the token elsewhere.
 */
export function webSocketDial(options: ClientOptions = {}): Dial {
  return (adminUrl, token, owner) => new WebSocketLink(adminUrl, token, owner, options);
}

/** The session's address on an admin: http becomes ws, https becomes wss, a path of the admin's own is kept. */
export function sessionUrl(adminUrl: string): string {
  const url = new URL(adminUrl);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = url.pathname.replace(/\/+$/, '') + SESSION_PATH;
  return url.href;
}

class WebSocketLink implements Link {
  readonly #socket: WebSocket;
  readonly #owner: LinkOwner;
  #isOver = false;
  #problem = '';
  #status: number | null = null;

  constructor(adminUrl: string, token: string, owner: LinkOwner, options: ClientOptions) {
    this.#owner = owner;
    const socket = new WebSocket(sessionUrl(adminUrl), SESSION_SUBPROTOCOL, {
      handshakeTimeout: HANDSHAKE_MS_MAX,
      ...options,
      headers: { authorization: `Bearer ${token}` },
      maxPayload: FRAME_BYTES_MAX,
      perMessageDeflate: false,
      followRedirects: false,
    });
    this.#socket = socket;
    socket.on('open', () => owner.opened(this));
    socket.on('message', (data, isBinary) => this.#message(data as Buffer, isBinary));
    socket.on('error', (error) => { if (this.#status === null) this.#problem = networkProblem(error); });
    socket.on('unexpected-response', (_request, response) => {
      this.#status = response.statusCode ?? null;
      this.#problem = `it answered ${this.#status}`;
      response.resume();
      socket.terminate(); // emits the error of an interrupted attempt, and then the close
    });
    socket.on('close', (code, reason) => this.#over(code, reason.toString('utf8')));
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  send(text: string, flushed?: () => void): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text, flushed);
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason.slice(0, 100));
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #message(data: Buffer, isBinary: boolean): void {
    if (this.#isOver) return;
    // A binary message is no frame; as text it fails to decode, which ends the session with the right code.
    this.#owner.message(this, isBinary ? '' : data.toString('utf8'));
  }

  #over(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#owner.closed(this, this.#status ?? code, reason === '' ? this.#problem : reason);
  }
}
