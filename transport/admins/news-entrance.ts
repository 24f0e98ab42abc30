/**
 * Where other admins come in to hear news. Whoever cannot prove to be one finds no such route, as at the entrance of
 * calls.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Bus } from '../../actors/bus.ts';
import type { TailSource } from '../../api/feeds/ports.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../net/log.ts';
import { NEWS_FRAME_BYTES_MAX } from './limits.ts';
import type { MessageSeals } from './message-seals.ts';
import { NewsSender, type NewsCounters } from './news-sender.ts';
import { decodeFromDialler } from './protocol/news.ts';
import type { PeerHeader } from './peer-header.ts';
import type { Peers } from './peers.ts';
import { NEWS_PATH } from './protocol/version.ts';
import { SealedEntrance, type SealedEntrancePorts } from './sealed-connections.ts';
import { SealedSocket } from './sealed-socket.ts';
import { TailSender } from './tail-sender.ts';

/** What the entrance needs. */
export interface NewsEntrancePorts extends SealedEntrancePorts {
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
  readonly #entrance: SealedEntrance;
  readonly #open = new Map<string, { readonly socket: SealedSocket; readonly tails: TailSender }>();

  constructor(ports: NewsEntrancePorts) {
    this.#ports = ports;
    const sizes = { path: NEWS_PATH, messageBytesMax: NEWS_FRAME_BYTES_MAX };
    this.#entrance = new SealedEntrance(sizes, ports, (opened, seals, from) => this.#tell(opened, seals, from));
  }

  /** Takes an upgrade of NEWS_PATH. False: it is no admin's, and to be refused as one of a path that there is not. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    return this.#entrance.take(request, socket, head);
  }

  /** Ends every connection, and takes no more. */
  close(): void {
    this.#entrance.close();
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

  #tell(opened: WebSocket, seals: MessageSeals, { fromAdmin, fromInstance }: PeerHeader): void {
    const { bus, tails: source, clock, monotonicMs, peers, log } = this.#ports;
    const writer = { send: (message: Uint8Array, sent?: () => void) => socket.send(message, sent) };
    const sender = new NewsSender({ bus, clock, writer, counters: this.counters });
    const tails = new TailSender({ source, writer, log });
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
