/** The one connection of the page: every call and every feed goes over it, as the API has them. */
import { signal } from '@preact/signals';
import { createTRPCClient, createWSClient, wsLink } from '@trpc/client';
import type { Api } from '../api/client/api.ts';
import { promptWebSocket } from '../api/client/prompt-web-socket.ts';
import type { AppRouter } from '../api/trpc/router.ts';
import { lookAtBuild } from './build.ts';
import { notOnceClosed, saidWhenLost, sentNowOrNever, type Held } from './calls.ts';
import { followServing } from './serving.ts';
import { askWho } from './session.ts';
import { askForSignsOfLife } from './sign-of-life.ts';

/** Wait before a lost connection is opened again, in ms: doubled each time, up to the second. */
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 5_000;

/**
 * The admin is asked for a sign of life after this silence, and taken for gone without one, in ms. It asks a silent
 * page itself every 20 s (api/trpc/sockets.ts), and need not where it was asked before: an open page costs it hardly
 * more than any other subscriber then.
 */
const PING_MS = 15_000;
const PONG_MS_MAX = 3_000;

/** While somebody does something at the page, it is asked after this silence, in ms. */
const PING_OF_SOMEBODY_MS = 5_000;

/** Asks as soon as somebody comes back to the page. */
class LiveSocket extends promptWebSocket() {
  constructor(...words: ConstructorParameters<typeof WebSocket>) {
    super(...words);
    askForSignsOfLife(this, window, {
      question: 'PING', // as of tRPC's own, which asks where nobody does anything
      silenceMs: PING_OF_SOMEBODY_MS,
      answerMs: PONG_MS_MAX,
      quietMs: null,
    });
  }
}

/** Close code of an admin whose database is away. Source: api/console/session-watch.ts. */
const STANDSTILL_CLOSE = 1_013;

/** How the connection is. */
export interface Link {
  readonly state: 'connecting' | 'open' | 'lost';
  /** Lost, as the admin said, since its database is away. */
  readonly isStill: boolean;
  /** ISO 8601. */
  readonly since: string;
}

/** It, now. */
export const link = signal<Link>({ state: 'connecting', isStill: false, since: new Date().toISOString() });

/** A connection with what goes over it. */
export interface Live {
  readonly api: Api;
  /**
   * The same for what leads to a change, questions before it included: what cannot be asked at once is refused as
   * `NotSent`. A question that waits for a connection would have the change done whenever there is one again.
   */
  readonly now: Api;
  /** For good: what is asked afterwards is refused as `NotSent`. */
  close(): void;
}

/**
 * Opens it, and again until it is closed. Whenever it is lost, the admin is asked whether the session is over. Calls
 * that change something wait for the first connection, and for no other one.
 */
export function connect(): Live {
  const first = Promise.withResolvers<void>();
  const told = (state: Link['state'], isStill = false): void => {
    if (link.value.state !== state) link.value = { state, isStill, since: new Date().toISOString() };
    if (state !== 'connecting') first.resolve();
  };
  let isClosed = false;
  const isUp = (): boolean => socket.connection?.ws.readyState === WebSocket.OPEN;
  const lost = (cause?: { readonly code?: number }): void => {
    if (isClosed) return;
    if (isUp()) return; // one that took a while to close: what was asked meanwhile has opened another
    told('lost', cause?.code === STANDSTILL_CLOSE);
    void askWho();
  };
  told('connecting');
  const socket = createWSClient({
    url: `${location.origin.replace(/^http/u, 'ws')}/console/live`,
    retryDelayMs: (attempt) => Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** attempt),
    WebSocket: LiveSocket,
    keepAlive: { enabled: true, intervalMs: PING_MS, pongTimeoutMs: PONG_MS_MAX },
    onOpen() {
      if (isClosed) return; // it was being opened meanwhile, and is closed next
      void lookAtBuild(); // it may be another admin, or the same after an upgrade
      void askWho(); // the cookie may be of another session by now
      told('open');
      serving.ask();
    },
    onClose: lost,
    onError: () => lost(),
  });
  /** One that is being closed as nobody answers is told to be lost a moment later. */
  const isOpen = async (): Promise<boolean> => {
    await first.promise;
    return isUp();
  };
  const apiBy = (held: Held): Api =>
    createTRPCClient<AppRouter>({
      links: [saidWhenLost, sentNowOrNever(isOpen, held), notOnceClosed(() => isClosed), wsLink({ client: socket })],
    });
  const [api, now] = [apiBy('changes'), apiBy('all')];
  const serving = followServing(() => api.get_admin.query({}));
  return {
    api,
    now,
    close() {
      isClosed = true;
      first.resolve(); // what waits for it is not done
      serving.stop();
      void socket.close();
    },
  };
}
