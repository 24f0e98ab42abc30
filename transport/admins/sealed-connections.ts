/** Connections between admins, both ends: proven by the header of a request at their upgrade, sealed from then on. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { containListeners } from '../net/streams/contained.ts';
import { handshakeWithin } from '../net/streams/handshake-limit.ts';
import { LINK_SILENCE_MS_MAX, PEER_CONNECT_MS_MAX } from './limits.ts';
import { MessageSeals } from './message-seals.ts';
import type { PeerHeader, ReceivedHeader } from './peer-header.ts';
import type { PeerKeys } from './peer-key.ts';
import type { PeerProofs } from './peer-proofs.ts';
import type { Peer, Peers } from './peers.ts';
import { PEER_HEADER, REACHED_HEADER } from './protocol/version.ts';

/** A dial that gets no answer is given up after this time, in ms: a connection, and its upgrade. */
const DIAL_MS_MAX = PEER_CONNECT_MS_MAX + LINK_SILENCE_MS_MAX;

/** What is dialled. */
export interface Dialled {
  readonly peer: Peer;
  readonly path: string;
  /** Largest message that comes over it, in bytes. */
  readonly messageBytesMax: number;
  /** A dial that gets no answer is given up after this time, in ms; DIAL_MS_MAX unless given. */
  readonly dialMsMax?: number;
}

/** What becomes of a dial: one of the two, once. */
export interface DialEnd {
  opened(socket: WebSocket, seals: MessageSeals): void;
  failed(): void;
}

/** Dials another admin. The returned function gives it up: then `failed` may be told, and `opened` is not. */
export function dialSealed(
  { peer, path, messageBytesMax, dialMsMax = DIAL_MS_MAX }: Dialled,
  { keys, peers, nowMs }: { readonly keys: PeerKeys; readonly peers: Pick<Peers, 'misled'>; readonly nowMs: number },
  end: DialEnd,
): () => void {
  const header = keys.header(routeOf(path), peer.instance, nowMs);
  const dialled = new WebSocket(webSocketUrl(peer.url, path), {
    headers: { [PEER_HEADER]: header.text },
    finishRequest: handshakeWithin(dialMsMax),
    maxPayload: messageBytesMax,
    perMessageDeflate: false,
    followRedirects: false,
  });
  let isOver = false;
  const failed = (): void => {
    if (isOver) return;
    isOver = true;
    end.failed();
  };
  dialled.on('error', failed);
  dialled.once('close', failed);
  dialled.once('unexpected-response', (_request, { statusCode, headers }) => {
    if (statusCode === 421 && headers[REACHED_HEADER] !== peer.id) peers.misled(peer);
    dialled.terminate();
    failed();
  });
  dialled.once('open', () => {
    if (isOver) return dialled.terminate();
    isOver = true;
    const { toDialled, toDialler } = keys.connectionKeys(header);
    end.opened(dialled, new MessageSeals(toDialled, toDialler));
  });
  return () => dialled.terminate();
}

/** What the proof of a connection is bound to besides its header. */
export function routeOf(path: string): string {
  return `GET ${path}`;
}

/** Where they come in. */
export interface SealedEntrancePorts {
  /** Id of this admin. */
  readonly adminId: string;
  readonly keys: PeerKeys;
  readonly proofs: PeerProofs;
}

/** Takes upgrades of one path. */
export class SealedEntrance {
  readonly #ports: SealedEntrancePorts;
  readonly #route: string;
  readonly #server: WebSocketServer;
  readonly #opened: (socket: WebSocket, seals: MessageSeals, from: PeerHeader) => void;
  #isClosed = false;

  /** `opened` is told of each connection of an admin. */
  constructor(
    { path, messageBytesMax }: Pick<Dialled, 'path' | 'messageBytesMax'>,
    ports: SealedEntrancePorts,
    opened: (socket: WebSocket, seals: MessageSeals, from: PeerHeader) => void,
  ) {
    this.#route = routeOf(path);
    this.#ports = ports;
    this.#opened = opened;
    this.#server = new WebSocketServer({ noServer: true, maxPayload: messageBytesMax, perMessageDeflate: false });
  }

  /** False: it is no admin's, and to be refused as one of a path that there is not. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const { proofs, adminId } = this.#ports;
    const proof = proofs.judge(this.#route, request);
    if (proof.type === 'misdirected') return refuse(socket, `421 Misdirected Request\r\n${REACHED_HEADER}: ${adminId}`);
    if (proof.type === 'unproven') {
      proofs.refused(request);
      return false;
    }
    if (proof.type === 'full' || this.#isClosed) return refuse(socket, '503 Service Unavailable');
    const { header } = proof;
    containListeners(socket);
    this.#server.handleUpgrade(request, socket, head, (opened) => {
      this.#opened(opened, this.#sealsOf(header), header.said);
    });
    return true;
  }

  /** Takes no more. Those that are open stay so. */
  close(): void {
    this.#isClosed = true;
  }

  #sealsOf(header: ReceivedHeader): MessageSeals {
    const { toDialled, toDialler } = this.#ports.keys.connectionKeys(header);
    return new MessageSeals(toDialler, toDialled);
  }
}

/** Only who proved to be an admin is told more than that there is no such route. */
function refuse(socket: Duplex, status: string): true {
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  return true;
}

function webSocketUrl(peerUrl: string, path: string): string {
  const url = new URL(peerUrl);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = url.pathname.replace(/\/+$/u, '') + path;
  return url.href;
}
