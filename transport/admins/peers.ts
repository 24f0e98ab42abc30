/** The other admins that are alive, as the rows have it, and whether this one reaches them. */
import type { Log } from '../net/log.ts';
import { isSpoken } from './protocol/version.ts';

/** An admin as it checked in. Null: an admin of before calls, which stores none of these. */
export interface CheckedIn {
  readonly id: string;
  readonly name: string;
  readonly instanceId: string | null;
  readonly peerUrl: string | null;
  readonly linkVersion: number | null;
}

/** An admin that can be called. */
export interface Peer {
  readonly id: string;
  readonly name: string;
  /** Of its process. */
  readonly instance: string;
  readonly url: string;
  /** Of what it says to other admins. */
  readonly version: number;
}

/** `other_version`: it takes no calls of this one. `why` completes "the admin …"; `sinceMs`: Unix ms. */
export type PeerState =
  | { readonly type: 'unknown' }
  | { readonly type: 'other_version' }
  | { readonly type: 'reached'; readonly sinceMs: number }
  | { readonly type: 'unreached'; readonly sinceMs: number; readonly why: string };

/** How an admin is reached. `latencyMs` of the last ping that was answered; null: none was. */
export interface PeerLink {
  readonly id: string;
  readonly name: string;
  readonly state: PeerState;
  readonly latencyMs: number | null;
}

interface Known {
  readonly admin: CheckedIn;
  /** Null: it cannot be called. */
  readonly peer: Peer | null;
  state: PeerState;
  /** How long its last answer to a ping took; null: there was none. */
  latencyMs: number | null;
  /** Whether it opens sealed bytes of agents; null: it was not heard yet. */
  opensRelayed: boolean | null;
  /** When its address led to another admin last. */
  astrayAtMs: number;
}

/**
 * An address that led to another admin counts as doing so for this long after, in ms, however often it leads right in
 * between, as one of a balancer does.
 */
const ASTRAY_MS = 60_000;

/** Nobody at first. */
export class Peers {
  readonly #self: string;
  readonly #log: Log;
  readonly #nowMs: () => number;
  #known: ReadonlyMap<string, Known> = new Map();

  /** `self`: id of this admin, which is none of its peers. */
  constructor(self: string, { log, nowMs }: { readonly log: Log; readonly nowMs: () => number }) {
    this.#self = self;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** These are alive now. What was known of the reach of a process stays as long as its row says the same. */
  saw(admins: readonly CheckedIn[]): void {
    this.#known = new Map(
      admins.flatMap((admin): [string, Known][] => {
        if (admin.id === this.#self) return [];
        const before = this.#known.get(admin.id);
        return [[admin.id, before !== undefined && isSame(before.admin, admin) ? before : knownOf(admin)]];
      }),
    );
  }

  /** Who can be called, by id; null: nobody of this id is alive, or it takes no calls of this one. */
  callable(admin: string): Peer | null {
    return this.#known.get(admin)?.peer ?? null;
  }

  /** Whether it is alive, and of a version that takes no calls of this one. */
  isOfOtherVersion(admin: string): boolean {
    return this.#known.get(admin)?.state.type === 'other_version';
  }

  /** Whether it answered when it was asked last. */
  isReached(admin: string): boolean {
    return this.#known.get(admin)?.state.type === 'reached';
  }

  /** Whether it did not answer when it was asked last, more than once. */
  isUnreached(admin: string): boolean {
    return this.#known.get(admin)?.state.type === 'unreached';
  }

  /** Whether this process of this admin is alive, by its row. */
  has(admin: string, instance: string): boolean {
    return this.#known.get(admin)?.admin.instanceId === instance;
  }

  /** Undefined: it is not alive. */
  nameOf(admin: string): string | undefined {
    return this.#known.get(admin)?.admin.name;
  }

  /** All that can be called. */
  all(): readonly Peer[] {
    return [...this.#known.values()].flatMap(({ peer }) => peer ?? []);
  }

  /** All that are alive, with their state. */
  states(): readonly PeerLink[] {
    return [...this.#known.values()].map(({ admin: { id, name }, state, latencyMs }) => ({
      id,
      name,
      state,
      latencyMs,
    }));
  }

  /** It answered a ping, and so long that took. */
  measured(peer: Peer, latencyMs: number): void {
    const known = this.#current(peer);
    if (known !== undefined) known.latencyMs = latencyMs;
  }

  /** It answered a ping with this. */
  ponged(peer: Peer, { opens_relayed }: { readonly opens_relayed: boolean }): void {
    const known = this.#current(peer);
    if (known !== undefined) known.opensRelayed = opens_relayed;
  }

  /** Whether that process opens sealed bytes of agents that are passed on to it; null: it has not answered yet. */
  opensRelayed(peer: Peer): boolean | null {
    return this.#current(peer)?.opensRelayed ?? null;
  }

  /** It answered, with proof. */
  reached(peer: Peer): void {
    const known = this.#current(peer);
    if (known === undefined || known.state.type === 'reached' || this.#isAstray(known)) return;
    known.state = { type: 'reached', sinceMs: this.#nowMs() };
    this.#log.info({ admin: peer.name }, 'an admin is reached now');
  }

  /** It was asked more than once and did not answer, or not as itself. `why` completes "the admin …". */
  unreached(peer: Peer, why: string): void {
    const known = this.#current(peer);
    if (known === undefined || known.state.type === 'unreached') return;
    known.state = { type: 'unreached', sinceMs: this.#nowMs(), why };
    this.#log.warn({ admin: peer.name, reason: why }, 'an admin cannot be reached');
  }

  /** Its address leads to another admin: a balancer, or a mistake. */
  misled(peer: Peer): void {
    const known = this.#current(peer);
    if (known === undefined) return;
    const isNews = !this.#isAstray(known);
    known.astrayAtMs = this.#nowMs();
    if (!isNews) return;
    known.state = { type: 'unreached', sinceMs: this.#nowMs(), why: MISLED };
    this.#log.warn(
      { admin: peer.name, url: peer.url, setting: 'ADMIN_PEER_URL' },
      'the address of an admin leads to another one: ADMIN_PEER_URL there must be a URL of that admin alone',
    );
  }

  #isAstray({ astrayAtMs }: Known): boolean {
    return this.#nowMs() - astrayAtMs < ASTRAY_MS;
  }

  /** Undefined: another process took its place meanwhile. */
  #current(peer: Peer): Known | undefined {
    const known = this.#known.get(peer.id);
    return known?.peer?.instance === peer.instance ? known : undefined;
  }
}

const MISLED = 'has an address that leads to another admin (ADMIN_PEER_URL)';

function knownOf(admin: CheckedIn): Known {
  const { id, name, instanceId, peerUrl, linkVersion } = admin;
  const unheard = { latencyMs: null, opensRelayed: null, astrayAtMs: -Infinity };
  if (instanceId === null || linkVersion === null || !isSpoken(linkVersion))
    return { admin, peer: null, state: { type: 'other_version' }, ...unheard };
  const isPlaced = peerUrl !== null && URL.canParse(peerUrl);
  return {
    admin,
    peer: isPlaced ? { id, name, instance: instanceId, url: peerUrl, version: linkVersion } : null,
    state: { type: 'unknown' },
    ...unheard,
  };
}

function isSame(a: CheckedIn, b: CheckedIn): boolean {
  return (
    a.instanceId === b.instanceId && a.peerUrl === b.peerUrl && a.linkVersion === b.linkVersion && a.name === b.name
  );
}
