/**
 * Where other admins come in to hear news. Whoever cannot prove to be one finds no such route, as at the entrance of
 * calls.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Bus } from '../../actors/bus.ts';
import type { TailSource } from '../../api/feeds/ports.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../net/log.ts';
import { containListeners } from '../net/streams/contained.ts';
import { NEWS_FRAME_BYTES_MAX } from './limits.ts';
import { MessageSeals } from './message-seals.ts';
import { NewsSender, type NewsCounters } from './news-sender.ts';
import { decodeFromDialler } from './protocol/news.ts';
import type { ReceivedHeader } from './peer-header.ts';
import type { PeerKeys } from './peer-key.ts';
import type { PeerProofs } from './peer-proofs.ts';
import type { Peers } from './peers.ts';
import { NEWS_PATH, REACHED_HEADER } from './protocol/version.ts';
import { SealedSocket } from './sealed-socket.ts';
import { TailSender } from './tail-sender.ts';

/** What the proof of a connection of news is bound to besides its header. */
export const NEWS_ROUTE = `GET ${NEWS_PATH}`;

/** What the entrance needs. */
export interface NewsEntrancePorts {
  /** Id of this admin. */
  readonly adminId: string;
  readonly keys: PeerKeys;
  readonly proofs: PeerProofs;
  readonly peers: Pick<Peers, 'nameOf'>;
  /** Commits of this admin. */
  readonly bus: Pick<Bus, 'subscribe'>;
  /** Live output of its nodes. */
  readonly tails: TailSource;
  /** By the database. */
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** Other admins hear here what this one commits. One connection a process: a newer one ends the one before. */
export class NewsEntrance {
  /** Of all that heard since the start. */
  readonly counters: NewsCounters = { notices: 0, missed: 0 };
  readonly #ports: NewsEntrancePorts;
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: NEWS_FRAME_BYTES_MAX,
    perMessageDeflate: false,
  });
  readonly #open = new Map<string, { readonly socket: SealedSocket; readonly tails: TailSender }>();
  #isClosing = false;

  constructor(ports: NewsEntrancePorts) {
    this.#ports = ports;
  }

  /** Takes an upgrade of NEWS_PATH. False: it is no admin's, and to be refused as one of a path that there is not. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const { proofs, adminId } = this.#ports;
    const proof = proofs.judge(NEWS_ROUTE, request);
    if (proof.type === 'misdirected') return refuse(socket, `421 Misdirected Request\r\n${REACHED_HEADER}: ${adminId}`);
    if (proof.type === 'unproven') {
      proofs.refused(request);
      return false;
    }
    if (proof.type === 'full' || this.#isClosing) return refuse(socket, '503 Service Unavailable');
    const { header } = proof;
    containListeners(socket);
    this.#server.handleUpgrade(request, socket, head, (opened) => {
      this.#tell(opened, header);
    });
    return true;
  }

  /** Ends every connection, and takes no more. */
  close(): void {
    this.#isClosing = true;
    for (const { socket } of this.#open.values()) socket.close('was ended here');
  }

  /** Ends what is told of nodes that belong to other admins now. */
  sweep(): void {
    for (const { tails } of this.#open.values()) tails.sweep();
  }

  /** How many hear. */
  open(): number {
    return this.#open.size;
  }

  #tell(opened: ConstructorParameters<typeof SealedSocket>[0], header: ReceivedHeader): void {
    const { keys, bus, tails: source, clock, monotonicMs, peers, log } = this.#ports;
    const { fromAdmin, fromInstance } = header.said;
    const { toDialled, toDialler } = keys.connectionKeys(header);
    const seals = new MessageSeals(toDialler, toDialled);
    const outlet = { send: (message: Uint8Array, sent?: () => void) => socket.send(message, sent) };
    const sender = new NewsSender({ bus, clock, outlet, counters: this.counters });
    const tails = new TailSender({ source, outlet, log });
    const socket: SealedSocket = new SealedSocket(
      opened,
      { seals, clock, monotonicMs },
      {
        heard: (message) => {
          const said = decodeFromDialler(message); // what is not known here is left out
          if (said?.type === 'want' || said?.type === 'ping') sender.heard(said);
          else if (said !== null) tails.heard(said);
        },
        closed: (why) => {
          sender.close();
          tails.close();
          if (this.#open.get(fromInstance)?.socket === socket) this.#open.delete(fromInstance);
          log.debug({ admin: peers.nameOf(fromAdmin) ?? fromAdmin, reason: why }, 'an admin hears no news any more');
        },
      },
    );
    this.#open.get(fromInstance)?.socket.close('was replaced by a newer one');
    this.#open.set(fromInstance, { socket, tails });
  }
}

/** Only who proved to be an admin is told more than that there is no such route. */
function refuse(socket: Duplex, status: string): true {
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  return true;
}
