/** Which admin is dialled next, and after what wait: the list in its order, for ever, and where admins send it. */
import type { SessionPorts } from './ports.ts';
import { reconnectDelayMs } from './backoff.ts';
import { Refusals, type Refused } from './refusals.ts';
import { isAnswerOfAdmin } from './endings.ts';
import { isFollowed, isSameAdmin, REDIRECTS_MAX, STEADY_MS_MIN, type SessionOptions } from './session-options.ts';

/** Up to this, a redirect is not followed at once, in ms: an admin's agents do not all come at the same moment. */
const REDIRECT_MS_MAX = 200;

/** What follows a lost connection. */
export interface Rest {
  readonly waitMs: number;
  /** No admin of the list knows this node, and that lasts. */
  readonly isUnknown: boolean;
}

/** One session's. Whether an admin is reached, it is told. */
export class AdminChoice {
  readonly #options: Pick<SessionOptions, 'adminUrls' | 'listedCount'>;
  readonly #ports: Pick<SessionPorts, 'random' | 'log'>;
  readonly #refusals = new Refusals();
  #attempt = 0;
  #round = 0;
  #redirects = 0;
  #redirect: string | null = null;
  /** Who sent it where it is dialling now; null: it was sent by nobody. */
  #sentBy: string | null = null;
  #isFollowing = false;
  /** The admin that was dialled last sent it to its own URL. */
  #namedItself = false;
  /** Where the owner was not reached just before: the dial that follows says so, and no other one. */
  #unreached: string | null = null;
  #stranded: string | null = null;
  #url = '';
  /** The one of the list that was dialled last, and the one that led to a welcome last. */
  #listed: string | null = null;
  #reachedBy: string | null = null;
  /** Those that were silent when they were heard last. */
  #silent: readonly string[] = [];
  #liveMs = 0;

  constructor(options: Pick<SessionOptions, 'adminUrls' | 'listedCount'>, ports: Pick<SessionPorts, 'random' | 'log'>) {
    this.#options = options;
    this.#ports = ports;
  }

  /** What admins say of this node, while they refuse it; null: nothing of the kind. */
  get refusal(): Refused | null {
    return this.#refusals.state;
  }

  /** The URL at which the owner of its cluster was not reached, which the admin that is dialled is to know. */
  get stranded(): string | null {
    return this.#stranded;
  }

  /** Whether the admin that is dialled is one to which another one sent it. */
  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** The one of the known URLs that led to the last welcome; null: there was none, or none of them did. */
  get reachedBy(): string | null {
    return this.#reachedBy;
  }

  /** The admin that is to be dialled now. */
  next(): string {
    const urls = this.#inOrder();
    this.#isFollowing = this.#redirect !== null && this.#sentBy !== null;
    this.#stranded = this.#unreached;
    this.#unreached = null;
    if (this.#redirect === null) this.#listed = urls[this.#attempt % urls.length] ?? null;
    this.#url = this.#redirect ?? this.#listed ?? '';
    this.#redirect = null;
    return this.#url;
  }

  /** This admin was chosen elsewhere, and what follows is about it. */
  adopted(url: string): void {
    this.#url = url;
    this.#listed = this.#reachedBy;
  }

  /** An admin let this node in. Times are of the session's clock, in ms. */
  welcomed(url: string, nowMs: number): void {
    if (url !== this.#url) this.adopted(url);
    this.#reachedBy = this.#options.adminUrls().find((known) => isSameAdmin(known, url)) ?? this.#listed;
    this.answers(url);
    this.#sentBy = null;
    this.#namedItself = false;
    this.#liveMs = nowMs;
    this.#refusals.welcomed();
  }

  /** An admin says nothing any more, though its connection stands: until it answers again it is dialled last. */
  wentSilent(url: string): void {
    const known = this.#options.adminUrls();
    this.#silent = [...this.#silent, url].filter((one) => known.some((other) => isSameAdmin(one, other)));
  }

  /** It says something again. */
  answers(url: string): void {
    if (this.#silent.length > 0) this.#silent = this.#silent.filter((one) => !isSameAdmin(one, url));
  }

  /** A session that was live has ended. */
  ended(nowMs: number): void {
    if (nowMs - this.#liveMs < STEADY_MS_MIN) return;
    this.#round = 0;
    this.#redirects = 0;
  }

  /** This admin does not know the node. */
  refused(wasDeleted: boolean): void {
    this.#refusals.refused(wasDeleted, this.#listed === null || this.#named().includes(this.#listed));
  }

  /**
   * From the first admin after a live session, else on through the list; only a whole round without success makes the
   * waits longer.
   */
  lost(wasLive: boolean): Rest {
    const { random, log } = this.#ports;
    const admins = this.#options.adminUrls().length;
    this.#attempt = wasLive ? 0 : (this.#attempt + 1) % admins;
    if (this.#attempt !== 0) return { waitMs: reconnectDelayMs(0, random()), isUnknown: false };
    const refused = this.#refusals.round({ admins, listed: this.#named().length }, random());
    if (refused?.sentence != null) log[refused.isLasting ? 'error' : 'warn']({ admin: this.#url }, refused.sentence);
    return {
      waitMs: refused?.waitMs ?? reconnectDelayMs(this.#round++, random()),
      isUnknown: refused?.isLasting === true,
    };
  }

  /**
   * A connection ended without a welcome, with this status or close code. Where it was to be that with the owner, the
   * one that sent it there is the next after so many ms, and is asked to pass the session on. Null: it was another one.
   */
  unreached(code: number): number | null {
    return isAnswerOfAdmin(code) ? null : this.#back();
  }

  /** An admin sends it to another: after so many ms it is the next. Null: it is not followed. */
  redirected(url: string): number | null {
    this.answers(this.#url);
    // Once may be the owner itself, which has its lease and has not heard of it yet.
    const namesItself = isSameAdmin(this.#url, url);
    const isAgain = namesItself && this.#namedItself;
    this.#namedItself = namesItself;
    if (this.#stranded !== null && isSameAdmin(this.#stranded, url)) return null; // it cannot be passed on
    if (isAgain) {
      const backMs = this.#back(); // the owner's URL leads to another admin, which names it too
      if (backMs !== null) return backMs;
    }
    const isSafe = URL.canParse(url) && isFollowed(this.#url, url);
    this.#redirects += 1;
    if (!isSafe || this.#redirects > REDIRECTS_MAX) {
      this.#redirects = 0; // a wait follows, which is longer after each whole round
      this.#ports.log.info(
        { admin: this.#url },
        isSafe
          ? 'Admins send this agent on and on: it waits before it goes where they say'
          : 'The admin does not own this cluster, and names none to go to',
      );
      return null;
    }
    this.#ports.log.info({ admin: url }, 'Another admin owns this cluster');
    this.#redirect = url;
    if (!namesItself || !this.#isFollowing) this.#sentBy = this.#url;
    return Math.round(this.#ports.random() * REDIRECT_MS_MAX);
  }

  /** It is not the owner that is there: whoever named it is the next. Null: this one was named by nobody. */
  #back(): number | null {
    const back = this.#sentBy;
    if (!this.#isFollowing || back === null) return null;
    this.#unreached = this.#url;
    this.#sentBy = null;
    this.#redirect = back;
    this.#ports.log.warn(
      { admin: back, url: this.#url },
      'The admin that owns this cluster is not reached: the one that named it is asked to pass the session on',
    );
    return Math.round(this.#ports.random() * REDIRECT_MS_MAX);
  }

  /** Those of the known URLs that are asked before it is said that no admin knows this node. */
  #named(): readonly string[] {
    const { adminUrls, listedCount } = this.#options;
    return adminUrls().slice(0, listedCount());
  }

  #inOrder(): readonly string[] {
    const urls = this.#options.adminUrls();
    if (this.#silent.length === 0) return urls;
    const isSilent = (url: string): boolean => this.#silent.some((one) => isSameAdmin(one, url));
    return [...urls.filter((url) => !isSilent(url)), ...urls.filter(isSilent)];
  }
}
