/** Tells one other admin what it wants to hear of the commits of this one, in their order. */
import type { Bus } from '../../actors/bus.ts';
import { NO_NEWS, type WantedNews } from '../../actors/news.ts';
import type { Notice } from '../../actors/notice.ts';
import type { Clock } from '../../actors/ports.ts';
import { NEWS_FRAME_BYTES_MAX, NEWS_GATHER_MS, NEWS_WAITING_MAX } from './limits.ts';
import {
  encodeNewsMessage,
  encodeNotices,
  isNews,
  writtenNews,
  type FromDialled,
  type FromDialler,
  type FromTailed,
  type FromTailing,
  type News,
} from './protocol/news.ts';

/** Around the notices of a message: the rest of it, and its seal. */
const FRAME_BYTES_BESIDES = 1_024;

/** Where it is told. `sent` is called once it is on its way. */
export interface NewsWriter {
  send(message: Uint8Array, sent?: () => void): void;
}

/** What it needs. */
export interface NewsSenderPorts {
  /** Commits of this admin. */
  readonly bus: Pick<Bus, 'subscribe'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly writer: NewsWriter;
  /** Where it is counted. Default: nowhere. */
  readonly counters?: NewsCounters;
}

/** Notices that were told, and times that too many waited, so that some were left out. */
export interface NewsCounters {
  notices: number;
  missed: number;
}

/** Nothing is told before something is wanted. */
export class NewsSender {
  readonly #ports: NewsSenderPorts;
  readonly #counters: NewsCounters;
  #wanted: WantedNews = NO_NEWS;
  #unsubscribe: (() => void) | null = null;
  /** Written, oldest first. */
  #waiting: string[] = [];
  #hasMissed = false;
  #isSending = false;
  #cancelFlush: (() => void) | null = null;

  constructor(ports: NewsSenderPorts) {
    this.#ports = ports;
    this.#counters = ports.counters ?? { notices: 0, missed: 0 };
  }

  /** What the other admin said. */
  heard(said: Exclude<FromDialler, FromTailing>): void {
    if (said.type === 'ping') return this.#say({ type: 'pong' });
    this.#wanted = said.wanted;
    this.#unsubscribe ??= this.#ports.bus.subscribe((notices) => this.#told(notices));
    this.#say({ type: 'wanted', n: said.n });
  }

  /** Nothing is told any more. */
  close(): void {
    this.#unsubscribe?.();
    this.#cancelFlush?.();
    this.#waiting = [];
  }

  #told(notices: readonly Notice[]): void {
    const { length } = this.#waiting;
    for (const notice of notices) if (isNews(notice) && this.#isWanted(notice)) this.#waiting.push(writtenNews(notice));
    if (this.#waiting.length === length) return;
    if (this.#waiting.length > NEWS_WAITING_MAX) {
      this.#waiting = [];
      this.#hasMissed = true;
      this.#counters.missed += 1;
    }
    if (!this.#isSending) this.#cancelFlush ??= this.#ports.clock.after(NEWS_GATHER_MS, () => this.#flush());
  }

  #isWanted(notice: News): boolean {
    if (notice.type === 'node-changed' || notice.type === 'node-removed') return this.#wanted.nodes;
    const { commands } = this.#wanted;
    return commands === 'all' || commands.has(notice.command);
  }

  /** One message at a time: what comes meanwhile waits here, where it is counted. */
  #flush(): void {
    this.#cancelFlush = null;
    if (this.#hasMissed) {
      this.#hasMissed = false;
      this.#say({ type: 'missed' });
    }
    const count = fitting(this.#waiting);
    if (count === 0) return;
    this.#isSending = true;
    this.#counters.notices += count;
    this.#ports.writer.send(encodeNotices(this.#waiting.splice(0, count)), () => {
      this.#isSending = false;
      if (this.#waiting.length > 0 || this.#hasMissed) this.#flush();
    });
  }

  #say(message: Exclude<FromDialled, FromTailed | { type: 'notices' }>): void {
    this.#ports.writer.send(encodeNewsMessage(message));
  }
}

/** How many of the first fit into one message: each is far smaller than one. */
function fitting(written: readonly string[]): number {
  let bytes = FRAME_BYTES_BESIDES;
  for (const [index, one] of written.entries()) {
    bytes += Buffer.byteLength(one) + 1;
    if (bytes > NEWS_FRAME_BYTES_MAX) return index;
  }
  return written.length;
}
