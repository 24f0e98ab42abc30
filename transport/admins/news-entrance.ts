/**
 * Where other admins come in to hear news. Whoever cannot prove to be one finds no such route, as at the entrance of
 * calls.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Bus } from '../../actors/bus.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../net/log.ts';
import { containListeners } from '../net/streams/contained.ts';
import { CALL_AGE_MS_MAX, NEWS_FRAME_BYTES_MAX, NONCES_MAX } from './limits.ts';
import { MessageSeals } from './message-seals.ts';
import { NewsSender } from './news-sender.ts';
import { readHeader, type ReceivedHeader } from './peer-header.ts';
import type { PeerKeys } from './peer-key.ts';
import type { Peers } from './peers.ts';
import { NEWS_PATH, PEER_HEADER, REACHED_HEADER } from './protocol/version.ts';
import { SealedSocket } from './sealed-socket.ts';
import { SeenNonces } from './seen-nonces.ts';

/** What the proof of a connection of news is bound to besides its header. */
export const NEWS_ROUTE = `GET ${NEWS_PATH}`;

/** What the entrance needs. */
export interface NewsEntrancePorts {
  /** Id of this admin. */
  readonly adminId: string;
  readonly keys: PeerKeys;
  readonly peers: Peers;
  /** Commits of this admin. */
  readonly bus: Pick<Bus, 'subscribe'>;
  /** By the database. */
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** Other admins hear here what this one commits. One connection a process: a newer one ends the one before. */
export class NewsEntrance {
  readonly #ports: NewsEntrancePorts;
  readonly #nonces = new SeenNonces(CALL_AGE_MS_MAX, NONCES_MAX);
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: NEWS_FRAME_BYTES_MAX,
    perMessageDeflate: false,
  });
  readonly #open = new Map<string, SealedSocket>();
  #isClosing = false;

  constructor(ports: NewsEntrancePorts) {
    this.#ports = ports;
  }

  /** Takes an upgrade of NEWS_PATH. False: it is no admin's, and to be refused as one of a path that there is not. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const { keys, clock, adminId } = this.#ports;
    const header = readHeader(request.headers[PEER_HEADER]);
    if (header === null || !this.#isProven(header)) return false;
    const { fromInstance, toInstance, nonce, sentAtMs } = header.said;
    if (toInstance !== keys.instance) return refuse(socket, `421 Misdirected Request\r\n${REACHED_HEADER}: ${adminId}`);
    const verdict = this.#nonces.take(fromInstance, nonce, sentAtMs, clock.nowMs());
    if (verdict === 'seen') return false;
    if (verdict === 'full' || this.#isClosing) return refuse(socket, '503 Service Unavailable');
    containListeners(socket);
    this.#server.handleUpgrade(request, socket, head, (opened) => {
      this.#tell(opened, header);
    });
    return true;
  }

  /** Forgets what is too old to matter. */
  sweep(): void {
    this.#nonces.sweep(this.#ports.clock.nowMs());
  }

  /** Ends every connection, and takes no more. */
  close(): void {
    this.#isClosing = true;
    for (const socket of this.#open.values()) socket.close('was ended here');
  }

  /** How many hear. */
  open(): number {
    return this.#open.size;
  }

  #tell(opened: ConstructorParameters<typeof SealedSocket>[0], header: ReceivedHeader): void {
    const { keys, bus, clock, monotonicMs, peers, log } = this.#ports;
    const { fromAdmin, fromInstance } = header.said;
    const { toDialled, toDialler } = keys.connectionKeys(header);
    const seals = new MessageSeals(toDialler, toDialled);
    const sender = new NewsSender({ bus, clock, outlet: { send: (message, sent) => socket.send(message, sent) } });
    const socket: SealedSocket = new SealedSocket(
      opened,
      { seals, clock, monotonicMs },
      {
        heard: (message) => sender.heard(message),
        closed: (why) => {
          sender.close();
          if (this.#open.get(fromInstance) === socket) this.#open.delete(fromInstance);
          log.debug({ admin: peers.nameOf(fromAdmin) ?? fromAdmin, reason: why }, 'an admin hears no news any more');
        },
      },
    );
    this.#open.get(fromInstance)?.close('was replaced by a newer one');
    this.#open.set(fromInstance, socket);
  }

  #isProven(header: ReceivedHeader): boolean {
    const { peers, keys, clock } = this.#ports;
    const { fromAdmin, fromInstance, sentAtMs } = header.said;
    return (
      peers.has(fromAdmin, fromInstance) &&
      Math.abs(clock.nowMs() - sentAtMs) <= CALL_AGE_MS_MAX &&
      keys.isProven(NEWS_ROUTE, header)
    );
  }
}

/** Only who proved to be an admin is told more than that there is no such route. */
function refuse(socket: Duplex, status: string): true {
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  return true;
}
