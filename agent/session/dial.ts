/** Connections to admins over `ws`. */
import { WebSocket } from 'ws';
import type { ClientOptions } from 'ws';
import { FRAME_BYTES_MAX } from '../../transport/protocol/limits.ts';
import {
  NODE_DELETED,
  REFUSAL_HEADER,
  SESSION_PATH,
  SESSION_SUBPROTOCOL,
  STRANDED_HEADER,
} from '../../transport/protocol/version.ts';
import { contained } from '../../transport/net/streams/contained.ts';
import { HANDSHAKE_SILENCES, handshakeWithin } from '../../transport/net/streams/handshake-limit.ts';
import type { Dial, Link, LinkOwner } from './ports.ts';
import { DIRECT, type Outbound } from '../outbound/outbound.ts';
import { networkProblem } from '../problem.ts';

/**
 * An admin that is silent for this time before the upgrade is given up, in ms, unless less is wanted; so is one whose
 * upgrade takes HANDSHAKE_SILENCES times as long, whatever it says.
 */
const HANDSHAKE_MS_MAX = 10_000;

/**
 * Dials with the token in the Authorization header. `options` are for those who need another source address or
 * certificate authorities; `outbound`: how admins are reached. Redirects are not followed: they would carry the token
 * elsewhere.
 */
export function webSocketDial(options: ClientOptions = {}, outbound: Outbound = DIRECT): Dial {
  return (adminUrl, token, owner, { handshakeMsMax = HANDSHAKE_MS_MAX, stranded } = {}) => {
    try {
      const agent = outbound.agentFor(adminUrl);
      const headers = {
        authorization: `Bearer ${token}`,
        ...(stranded !== undefined && { [STRANDED_HEADER]: new URL(stranded).href }),
      };
      const dialling = {
        handshakeTimeout: handshakeMsMax,
        finishRequest: handshakeWithin(HANDSHAKE_SILENCES * handshakeMsMax),
        ...(agent && { agent }),
        ...options,
        headers,
      };
      return new WebSocketLink(adminUrl, owner, dialling);
    } catch (error) {
      // an admin told of a URL, or gave a token, with which no request can be made
      return neverOpened(owner, networkProblem(error));
    }
  };
}

/** A link that ends as soon as its owner has it. */
function neverOpened(owner: LinkOwner, problem: string): Link {
  let isOver = false;
  const link: Link = {
    bufferedBytes: 0,
    send() {},
    close() {
      isOver = true;
    },
    terminate() {
      isOver = true;
    },
  };
  setImmediate(() => {
    if (!isOver) owner.closed(link, NEVER_OPENED, problem);
  });
  return link;
}

/** What a connection is closed with that never opened. Source: RFC 6455, 7.1.5. */
const NEVER_OPENED = 1_006;

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

  constructor(adminUrl: string, owner: LinkOwner, options: ClientOptions) {
    this.#owner = owner;
    const socket = new WebSocket(sessionUrl(adminUrl), SESSION_SUBPROTOCOL, {
      ...options,
      maxPayload: FRAME_BYTES_MAX,
      perMessageDeflate: false,
      followRedirects: false,
    });
    this.#socket = socket;
    socket.on('open', () => owner.opened(this));
    // What throws here is a fault of ours: it costs this session, and the next one begins with what the journal holds.
    socket.on(
      'message',
      contained(
        (data, isBinary) => this.#message(data as Buffer, isBinary),
        (error) => this.#broken(error),
      ),
    );
    socket.on('error', (error) => {
      if (this.#status === null) this.#problem = networkProblem(error);
    });
    socket.on('unexpected-response', (_request, response) => {
      this.#status = response.statusCode ?? null;
      this.#problem =
        this.#status === 401 && response.headers[REFUSAL_HEADER] === NODE_DELETED
          ? NODE_DELETED
          : `it answered ${this.#status}`;
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

  #broken(error: unknown): void {
    this.#problem = `a frame could not be handled: ${error instanceof Error ? error.message : String(error)}`;
    this.#socket.terminate();
  }

  #over(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#owner.closed(this, this.#status ?? code, reason === '' ? this.#problem : reason);
  }
}
