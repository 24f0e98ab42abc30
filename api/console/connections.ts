/** The connections of pages that signed in: by cookie and exact origin, and cut when their session is over (E5). */
import type { IncomingMessage } from 'node:http';
import { DatabaseUnavailable, type Clock } from '../../actors/ports.ts';
import { refuse, UNAVAILABLE, type Refusal } from '../../actors/refusal.ts';
import type { Log } from '../../transport/net/log.ts';
import type { Gate } from '../principals.ts';
import type { Principal } from '../surface.ts';
import { addressOf } from '../rest/requests.ts';
import { refuseUpgrade, type UpgradeHandler } from '../rest/upgrades.ts';
import { tokensOf } from './cookie.ts';
import type { ConsoleCounters } from './counters.ts';
import { SESSION_LOOK_MS } from './limits.ts';
import { asksThisMachine, otherPage } from './same-origin.ts';
import type { StoredSession } from './ports.ts';
import type { Sessions } from './sessions.ts';

/** Where pages have their one connection. */
export const LIVE_PATH = '/console/live';

/** Where they have one for each terminal. */
export const CONSOLE_TERMINAL_PATH = '/console/terminal';

/** Close code of a connection whose session is over: as of an agent whose credential was revoked. */
export const SESSION_OVER_CLOSE = 4_003;

/** A connection that can be cut. */
interface Connection {
  close(code: number, reason: string): void;
  once(event: 'close', listener: () => void): unknown;
}

/** What connections are let in by. */
export interface ConnectionsKit {
  readonly sessions: Pick<Sessions, 'find' | 'mark' | 'living'>;
  readonly gate: Pick<Gate, 'identify'>;
  readonly isPlainAllowed: boolean;
  readonly clock: Pick<Clock, 'after'>;
  readonly counters: Pick<ConsoleCounters, 'connection'>;
  readonly log: Log;
}

/** Takes connections of pages over: for calls and feeds, or for a terminal. `taken` gets what can be cut. */
export interface Sockets {
  takeSignedIn(
    upgrade: Parameters<UpgradeHandler>,
    signedIn: Principal | null,
    taken: (client: Connection) => void,
  ): void;
}

/** The handlers of upgrade requests, and what ends the looking after them. */
export interface Connections {
  upgradesTo(sockets: Sockets): UpgradeHandler;
  stop(): void;
}

/** Nobody is connected yet. */
export function createConnections(kit: ConnectionsKit): Connections {
  const { sessions, gate, log } = kit;
  const watch = new SessionWatch(kit);

  async function take(sockets: Sockets, [request, socket, head]: Parameters<UpgradeHandler>): Promise<void> {
    const { headers } = request;
    const session = await sessions.find(tokensOf(headers, kit.isPlainAllowed || asksThisMachine(headers)));
    if (socket.destroyed) return;
    const isOpen = session === null && gate.identify(unknownCaller(request)) === 'anonymous';
    if (session === null && !isOpen) return refuseUpgrade(socket, '401 Unauthorized', NOT_SIGNED_IN);
    sockets.takeSignedIn([request, socket, head], session?.principal ?? null, (client) => {
      kit.counters.connection(client);
      if (session !== null) watch.add(session.stored, client);
    });
  }

  return {
    upgradesTo: (sockets) => (request, socket, head) => {
      const other = otherPage(request);
      if (other !== null) return refuseUpgrade(socket, '403 Forbidden', other);
      take(sockets, [request, socket, head]).catch((error: unknown) => {
        if (!(error instanceof DatabaseUnavailable)) log.error({ error }, 'a page of the console could not be let in');
        refuseUpgrade(socket, '503 Service Unavailable', UNAVAILABLE);
      });
    },
    stop: () => watch.stop(),
  };
}

/** Somebody who shows nothing. */
function unknownCaller(request: IncomingMessage): Parameters<Gate['identify']>[0] {
  return {
    surface: 'trpc',
    credential: null,
    address: addressOf(request),
    host: request.headers.host,
    requestId: '',
    idempotencyKey: null,
  };
}

/**
 * Looks at the sessions of those who are connected, all together, and cuts those whose is over. What a look costs with
 * 1,000 of them is their ids, there and back, so it asks first whether any session began or ended since the last one.
 */
class SessionWatch {
  readonly #kit: ConnectionsKit;
  /** Connected since the last look: one may have begun and ended since then. */
  readonly #unseen = new Set<string>();
  /** Of the last look. */
  #mark: string | null = null;
  readonly #connections = new Map<string, { readonly stored: StoredSession; readonly open: Set<Connection> }>();
  #cancel: (() => void) | null = null;

  constructor(kit: ConnectionsKit) {
    this.#kit = kit;
  }

  add(stored: StoredSession, connection: Connection): void {
    const one = this.#connections.get(stored.id) ?? { stored, open: new Set<Connection>() };
    this.#connections.set(stored.id, one);
    one.open.add(connection);
    this.#unseen.add(stored.id);
    connection.once('close', () => {
      one.open.delete(connection);
      if (one.open.size > 0) return;
      this.#connections.delete(stored.id);
      this.#unseen.delete(stored.id);
    });
    this.#later();
  }

  stop(): void {
    this.#cancel?.();
    this.#connections.clear();
    this.#unseen.clear();
  }

  #later(): void {
    this.#cancel ??= this.#kit.clock.after(SESSION_LOOK_MS, () => void this.#look());
  }

  /** While the database is away nobody can be asked: then feeds stand still too. */
  async #look(): Promise<void> {
    try {
      // asked first: whatever ends after it makes the next one another
      const mark = await this.#kit.sessions.mark();
      const ids = mark === this.#mark ? [...this.#unseen] : [...this.#connections.keys()];
      await this.#cutThoseOver(ids);
      this.#mark = mark;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable))
        this.#kit.log.error({ error }, 'sessions of the console could not be looked at');
    }
    this.#cancel = null;
    if (this.#connections.size > 0) this.#later();
  }

  async #cutThoseOver(ids: readonly string[]): Promise<void> {
    const looked = ids.map((id) => this.#connections.get(id)).filter((one) => one !== undefined);
    const living = looked.length === 0 ? NONE : await this.#kit.sessions.living(looked.map(({ stored }) => stored));
    for (const id of ids) this.#unseen.delete(id);
    for (const { stored, open } of looked)
      if (!living.has(stored.id))
        for (const connection of open) connection.close(SESSION_OVER_CLOSE, 'this session is over: sign in again');
  }
}

const NONE: ReadonlySet<string> = new Set();

const NOT_SIGNED_IN: Refusal = refuse('unauthorized', 'Sign in to the console first.').refusal;
