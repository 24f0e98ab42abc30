/**
 * The connections of pages that signed in: by cookie and exact origin, and cut when their session is over (E5), or,
 * where they show what is stored, when the database is away.
 */
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
import { asksThisMachine, otherPage } from './same-origin.ts';
import type { Sessions } from './sessions.ts';
import { SessionWatch, type Connection } from './session-watch.ts';

/** Where pages have their one connection. */
export const LIVE_PATH = '/console/live';

/** Where they have one for each terminal. */
export const CONSOLE_TERMINAL_PATH = '/console/terminal';

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
  /** `isFed`: what pages show comes over it as it is stored, so that none is had while the database is away. */
  upgradesTo(sockets: Sockets, how: { readonly isFed: boolean }): UpgradeHandler;
  stop(): void;
}

/** Nobody is connected yet. */
export function createConnections(kit: ConnectionsKit): Connections {
  const { sessions, gate, log } = kit;
  const watch = new SessionWatch(kit);

  async function take(
    sockets: Sockets,
    isFed: boolean,
    [request, socket, head]: Parameters<UpgradeHandler>,
  ): Promise<void> {
    const { headers } = request;
    if (isFed && watch.isStill) return refuseUpgrade(socket, '503 Service Unavailable', UNAVAILABLE);
    const session = await sessions.find(tokensOf(headers, kit.isPlainAllowed || asksThisMachine(headers)));
    if (socket.destroyed) return;
    const isOpen = session === null && gate.identify(unknownCaller(request)) === 'anonymous';
    if (session === null && !isOpen) return refuseUpgrade(socket, '401 Unauthorized', NOT_SIGNED_IN);
    sockets.takeSignedIn([request, socket, head], session?.principal ?? null, (client) => {
      kit.counters.connection(client);
      watch.add(client, { session: session?.stored ?? null, isFed });
    });
  }

  return {
    upgradesTo:
      (sockets, { isFed }) =>
      (request, socket, head) => {
        const other = otherPage(request);
        if (other !== null) return refuseUpgrade(socket, '403 Forbidden', other);
        take(sockets, isFed, [request, socket, head]).catch((error: unknown) => {
          if (!(error instanceof DatabaseUnavailable))
            log.error({ error }, 'a page of the console could not be let in');
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

const NOT_SIGNED_IN: Refusal = refuse('unauthorized', 'Sign in to the console first.').refusal;
