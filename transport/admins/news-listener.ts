/** Hears the news of all other admins while somebody here wants some, and knows when some may have been left out. */
import type { Bus } from '../../actors/bus.ts';
import { NO_NEWS, type NewsSource, type WantedNews } from '../../actors/news.ts';
import type { CommandId } from '../protocol/ids.ts';
import { LINK_UNUSED_MS_MAX, MISSED_EVERY_MS, WATCHED_COMMANDS_MAX } from './limits.ts';
import { NewsLink, type NewsLinkPorts } from './news-link.ts';
import type { Peers } from './peers.ts';
import type { FromDialler, News } from './protocol/news.ts';
import type { TailsOfOthers } from './tails-of-others.ts';

/** What it needs. */
export interface NewsListenerPorts extends NewsLinkPorts {
  readonly peers: Pick<Peers, 'all' | 'states' | 'misled'>;
  /** Where news is told. */
  readonly news: Pick<Bus, 'publish'>;
  /** Who is told of live output. */
  readonly tails: Pick<TailsOfOthers, 'reached' | 'gone' | 'heard'>;
}

interface Linked {
  readonly link: NewsLink;
  /** The newest want from which on nothing is left out; -1: none. */
  wantedN: number;
}

/** No connection is open before something is wanted, and none to anybody while there is nobody. */
export class NewsListener implements NewsSource {
  /** Notices that were heard, and times that some may have been left out, since the start. */
  readonly counters = { notices: 0, missed: 0 };
  readonly #ports: NewsListenerPorts;
  readonly #subscribers = new Map<string, WantedNews>();
  readonly #links = new Map<string, Linked>();
  #wanted: WantedNews = NO_NEWS;
  /** Rises with each want and each loss. */
  #n = 0;
  /** Of the newest want, and of the newest loss. */
  #wantN = 0;
  #lossN = 0;
  /** Since which want each is wanted without a break. */
  #nodesSince = 0;
  #allSince = 0;
  #since = new Map<CommandId, number>();
  /** Whether nothing of nodes, or of anything, was left out when it was looked last. */
  #hasNodes = true;
  #hasAll = true;
  #unusedSinceMs: number | null = null;
  #cancelReminder: (() => void) | null = null;
  #isClosed = false;

  constructor(ports: NewsListenerPorts) {
    this.#ports = ports;
  }

  want(subscriber: 'feeds' | 'actors', wanted: WantedNews): void {
    this.#subscribers.set(subscriber, wanted);
    const before = this.#wanted;
    const merged = together([...this.#subscribers.values()]);
    if (isSame(before, merged)) return;
    this.#n += 1;
    this.#wantN = this.#n;
    this.#wanted = merged;
    this.#count(before);
    for (const { link } of this.#links.values()) link.want({ n: this.#wantN, wanted: merged });
    this.#hasAll = this.#isHeard(this.#wantN);
    if (!before.nodes) this.#hasNodes = this.#isHeard(this.#nodesSince);
    this.round();
  }

  coverage(command: CommandId): number | null {
    const since = this.#wanted.commands === 'all' ? this.#allSince : this.#since.get(command);
    return since !== undefined && this.#isHeard(since) ? Math.max(since, this.#lossN) : null;
  }

  /** False: there is no open connection to this admin. */
  say(admin: string, message: FromDialler): boolean {
    return this.#links.get(admin)?.link.say(message) ?? false;
  }

  /** It may be others now that are alive. */
  round(): void {
    if (this.#isClosed) return;
    const peers = new Map(this.#isUsed() ? this.#ports.peers.all().map((peer) => [peer.id, peer]) : []);
    let hasLost = false;
    for (const [id, { link }] of this.#links) {
      const peer = peers.get(id);
      if (peer !== undefined && peer.instance === link.peer.instance && peer.url === link.peer.url) continue;
      link.close();
      this.#links.delete(id);
      this.#ports.tails.gone(id);
      hasLost = true;
    }
    for (const [id, peer] of peers) if (!this.#links.has(id)) this.#links.set(id, this.#linkTo(peer));
    if (hasLost && isAny(this.#wanted)) this.#missed();
    else this.#judge();
  }

  /** Admins that tell their news now. */
  open(): number {
    return [...this.#links.values()].filter(({ link }) => link.isOpen).length;
  }

  /** Ends every connection. */
  close(): void {
    this.#isClosed = true;
    this.#cancelReminder?.();
    for (const { link } of this.#links.values()) link.close();
    this.#links.clear();
  }

  #linkTo(peer: NewsLink['peer']): Linked {
    const want = { n: this.#wantN, wanted: this.#wanted };
    const linked: Linked = {
      wantedN: -1,
      link: new NewsLink(peer, want, this.#ports, {
        heard: (news) => this.#heard(news),
        tailed: (said, bytes) => this.#ports.tails.heard(peer.id, said, bytes),
        opened: () => this.#ports.tails.reached(peer.id),
        wanted: (n) => {
          linked.wantedN = n;
          this.#judge();
        },
        missed: () => this.#missed(),
        lost: () => {
          linked.wantedN = -1;
          this.#ports.tails.gone(peer.id);
          this.#missed();
        },
      }),
    };
    return linked;
  }

  #heard(news: readonly News[]): void {
    this.counters.notices += news.length;
    this.#ports.news.publish(
      news.map((notice) => (notice.type === 'execution-changed' ? { ...notice, again: true } : notice)),
    );
  }

  /** Anything may have been left out until now. */
  #missed(): void {
    this.counters.missed += 1;
    this.#n += 1;
    this.#lossN = this.#n;
    this.#hasNodes = this.#isHeard(this.#nodesSince);
    this.#hasAll = this.#isHeard(this.#wantN);
    this.#remind(this.#wanted.nodes);
    this.#judge();
  }

  /** Those who show something look at the rows once all is heard of which some was not, and now and then until then. */
  #judge(): void {
    const [hasNodes, hasAll] = [this.#isHeard(this.#nodesSince), this.#isHeard(this.#wantN)];
    const { news } = this.#ports;
    if (hasNodes && !this.#hasNodes && this.#wanted.nodes) news.publish([{ type: 'missed', what: 'nodes' }]);
    if (hasAll && !this.#hasAll && isAny(this.#wanted)) news.publish([{ type: 'missed', what: 'commands' }]);
    this.#hasNodes = hasNodes;
    this.#hasAll = hasAll;
    if (hasAll || !isAny(this.#wanted)) {
      this.#cancelReminder?.();
      this.#cancelReminder = null;
    } else this.#remindLater();
  }

  #remindLater(): void {
    this.#cancelReminder ??= this.#ports.clock.after(MISSED_EVERY_MS, () => {
      this.#cancelReminder = null;
      this.#remind(this.#wanted.nodes && !this.#hasNodes);
      this.#remindLater();
    });
  }

  #remind(hasMissedNodes: boolean): void {
    if (hasMissedNodes) this.#ports.news.publish([{ type: 'missed', what: 'nodes' }]);
    if (isAny(this.#wanted)) this.#ports.news.publish([{ type: 'missed', what: 'commands' }]);
  }

  /** Whether each admin that is alive tells all that was wanted under `n`. */
  #isHeard(n: number): boolean {
    return this.#ports.peers.states().every(({ id }) => (this.#links.get(id)?.wantedN ?? -1) >= n);
  }

  #isUsed(): boolean {
    if (isAny(this.#wanted)) {
      this.#unusedSinceMs = null;
      return true;
    }
    const nowMs = this.#ports.monotonicMs();
    this.#unusedSinceMs ??= nowMs;
    return this.#links.size > 0 && nowMs - this.#unusedSinceMs < LINK_UNUSED_MS_MAX;
  }

  #count(before: WantedNews): void {
    const { nodes, commands } = this.#wanted;
    if (nodes && !before.nodes) this.#nodesSince = this.#wantN;
    if (commands === 'all') {
      if (before.commands !== 'all') this.#allSince = this.#wantN;
      this.#since = new Map();
      return;
    }
    // After a want of all each has been told of since then.
    const since = before.commands === 'all' ? this.#allSince : null;
    this.#since = new Map([...commands].map((one) => [one, since ?? this.#since.get(one) ?? this.#wantN]));
  }
}

function together(all: readonly WantedNews[]): WantedNews {
  const nodes = all.some((one) => one.nodes);
  const commands = new Set<CommandId>();
  for (const one of all) {
    if (one.commands === 'all') return { nodes, commands: 'all' };
    for (const id of one.commands) commands.add(id);
  }
  return { nodes, commands: commands.size > WATCHED_COMMANDS_MAX ? 'all' : commands };
}

function isSame(one: WantedNews, other: WantedNews): boolean {
  if (one.nodes !== other.nodes) return false;
  if (one.commands === 'all' || other.commands === 'all') return one.commands === other.commands;
  const { commands } = other;
  return one.commands.size === commands.size && [...one.commands].every((id) => commands.has(id));
}

function isAny({ nodes, commands }: WantedNews): boolean {
  return nodes || commands === 'all' || commands.size > 0;
}
