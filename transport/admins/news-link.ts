/** The connection over which one other admin tells its news: dialled, and again for ever when it is lost. */
import type { WebSocket } from 'ws';
import type { WantedNews } from '../../actors/news.ts';
import type { Clock } from '../../actors/ports.ts';
import { LINK_REDIAL_MS, LINK_REDIAL_MS_MAX, NEWS_FRAME_BYTES_MAX } from './limits.ts';
import type { MessageSeals } from './message-seals.ts';
import type { PeerKeys } from './peer-key.ts';
import type { Peer, Peers } from './peers.ts';
import { decodeFromDialled, encodeNewsMessage, type FromDialler, type FromTailed, type News } from './protocol/news.ts';
import { NEWS_PATH } from './protocol/version.ts';
import { dialSealed } from './sealed-connections.ts';
import { SealedSocket } from './sealed-socket.ts';

/** Who is told. Each returns at once. */
export interface NewsLinkOwner {
  heard(news: readonly News[]): void;
  /** Live output, in a message of so many bytes. */
  tailed(said: FromTailed, bytes: number): void;
  /** It is open: `say` goes out from here on. */
  opened(): void;
  /** From here on nothing is left out of what was wanted under `n`. */
  wanted(n: number): void;
  /** Something was left out until now. */
  missed(): void;
  /** Nothing is told until the next `wanted`, and what was under way may not have come. */
  lost(): void;
}

/** What it needs. */
export interface NewsLinkPorts {
  readonly keys: PeerKeys;
  readonly peers: Pick<Peers, 'misled'>;
  /** By the database. */
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** To one process of an admin. */
export class NewsLink {
  readonly peer: Peer;
  readonly #ports: NewsLinkPorts;
  readonly #owner: NewsLinkOwner;
  #want: { readonly n: number; readonly wanted: WantedNews };
  /** Null: it is dialled, or waits until it is. */
  #socket: SealedSocket | null = null;
  #giveUp: () => void = () => undefined;
  #waitMs = LINK_REDIAL_MS;
  #cancelRedial: () => void = () => undefined;
  #isClosed = false;

  /** Dials at once, and says what is wanted as soon as it is open. */
  constructor(
    peer: Peer,
    want: { readonly n: number; readonly wanted: WantedNews },
    ports: NewsLinkPorts,
    owner: NewsLinkOwner,
  ) {
    this.peer = peer;
    this.#want = want;
    this.#ports = ports;
    this.#owner = owner;
    this.#dial();
  }

  /** Whether it is connected now. */
  get isOpen(): boolean {
    return this.#socket !== null;
  }

  /** Replaces what was wanted before. */
  want(want: { readonly n: number; readonly wanted: WantedNews }): void {
    this.#want = want;
    this.#sayWant();
  }

  /** False: it is not open. */
  say(message: FromDialler): boolean {
    this.#socket?.send(encodeNewsMessage(message));
    return this.#socket !== null;
  }

  /** Nothing is told any more, also not that it is lost. */
  close(): void {
    this.#isClosed = true;
    this.#cancelRedial();
    this.#socket?.close('was ended here');
    this.#giveUp();
  }

  #sayWant(): void {
    this.say({ type: 'want', ...this.#want });
  }

  #dial(): void {
    const { keys, peers, clock } = this.#ports;
    const dialled = { peer: this.peer, path: NEWS_PATH, messageBytesMax: 2 * NEWS_FRAME_BYTES_MAX };
    this.#giveUp = dialSealed(
      dialled,
      { keys, peers, nowMs: clock.nowMs() },
      {
        opened: (socket, seals) => this.#opened(socket, seals),
        failed: () => this.#redialLater(),
      },
    );
  }

  #opened(dialled: WebSocket, seals: MessageSeals): void {
    if (this.#isClosed) return dialled.terminate();
    const { clock, monotonicMs } = this.#ports;
    this.#socket = new SealedSocket(
      dialled,
      { seals, clock, monotonicMs },
      {
        heard: (message) => this.#heard(message),
        tick: () => void this.say({ type: 'ping' }),
        closed: () => {
          this.#socket = null;
          if (this.#isClosed) return;
          this.#redialLater();
          this.#owner.lost();
        },
      },
    );
    this.#sayWant();
    this.#owner.opened();
  }

  #heard(message: Buffer): void {
    const said = decodeFromDialled(message);
    if (said?.type === 'notices') this.#owner.heard(said.notices);
    if (said?.type === 'missed') this.#owner.missed();
    if (said?.type === 'tail-output' || said?.type === 'untailed') this.#owner.tailed(said, message.byteLength);
    if (said?.type === 'wanted') {
      this.#waitMs = LINK_REDIAL_MS; // it proved who it is
      this.#owner.wanted(said.n);
    }
  }

  #redialLater(): void {
    if (this.#isClosed) return;
    const waitMs = this.#waitMs * (0.5 + this.#ports.random() / 2);
    this.#waitMs = Math.min(LINK_REDIAL_MS_MAX, this.#waitMs * 2);
    this.#cancelRedial = this.#ports.clock.after(waitMs, () => this.#dial());
  }
}
