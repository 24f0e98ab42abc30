/** The client of the service: calls over HTTP, live feeds over one WebSocket. It knows the router by its type only. */
import { createTRPCClient, createWSClient, httpLink, splitLink, wsLink } from '@trpc/client';
import type { AppRouter } from '../trpc/router.ts';
import type { Api } from './api.ts';
import { promptWebSocket } from './prompt-web-socket.ts';

/**
 * Longest URL, in bytes; a query that would have a longer one is a POST. Source: RFC 9110, 4.1, what everybody takes.
 */
const URL_BYTES_MAX = 8_000;

/** Wait before a lost live connection is opened again, in ms: doubled each time, up to the second. */
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 5_000;

/**
 * A connection without subscriptions is closed after this, in ms. tRPC looks this often whether there are any: not 0,
 * which keeps it busy.
 */
const IDLE_MS = 10_000;

/**
 * The service is asked for a sign of life after this silence, and the connection is taken for lost without one after
 * the second, in ms. A machine that fell asleep, or a path that forgot the connection, says nothing of it.
 */
const PING_MS = 10_000;
const PONG_MS_MAX = 10_000;

/** Wait before a refused subscription is tried again where the refusal says no time, in ms. */
const REFUSED_MS = 1_000;

/**
 * Longest wait before what was refused is tried again, in ms; a longer one that the service asks for is taken for
 * this one: timers fire at once where they cannot hold their time.
 */
const REFUSED_MS_MAX = 900_000;

/** Where the service is, and with which key it is asked. */
export interface Connection {
  /** Such as `https://fleet.example:44000`. The path of the REST API may stand behind it. */
  readonly url: string;
  /** `API_KEY` or `MASTER_KEY`. Null: the service asks for none. */
  readonly key: string | null;
}

/** How requests are made: `fetch`, or what does the same for texts. */
export type Fetch = (
  at: string | URL | Request,
  init?: RequestInit,
) => Promise<{ readonly ok: boolean; json(): Promise<unknown> }>;

/**
 * Calls go over HTTP, by `fetch` unless another way is given. Those that are open when `signal` aborts reject: they
 * would keep a program that is to end. Throws a TypeError where the URL is none.
 */
export function createClient({ url, key }: Connection, signal?: AbortSignal, by: Fetch = fetch): Api {
  const at = trpcUrl(url);
  const http: Parameters<typeof httpLink>[0] = {
    url: at,
    headers: () => authorization(key),
    fetch: (to, init) => by(to, signal === undefined ? init : { ...init, signal: either(signal, init?.signal) }),
  };
  return createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: ({ type, path, input }) =>
          type === 'query' && `${at}/${path}?input=${encodeURIComponent(JSON.stringify(input))}`.length > URL_BYTES_MAX,
        true: httpLink({ ...http, methodOverride: 'POST' }),
        false: httpLink(http),
      }),
    ],
  });
}

/** A client of the live feeds, over one WebSocket that comes back by itself. */
export interface LiveClient {
  readonly api: Api;
  /** Ends the WebSocket, and with it all subscriptions. */
  close(): void;
}

/** Who hears of the WebSocket: that it is open, and that it broke or cannot be opened. It is tried again by itself. */
export interface LiveListener {
  readonly open?: () => void;
  readonly lost?: () => void;
}

/** How long a connection may be silent before the service is asked, and how long the answer may take, in ms. */
export interface SilenceLimits {
  readonly pingMs: number;
  readonly pongMsMax: number;
}

/**
 * Opens the WebSocket at the first subscription, and again until it is closed. Needs a global `WebSocket`: browsers,
 * and Node 22 or later. Throws a TypeError where the URL is none.
 */
export function createLiveClient(
  { url, key }: Connection,
  { open, lost }: LiveListener = {},
  silence: SilenceLimits = { pingMs: PING_MS, pongMsMax: PONG_MS_MAX },
): LiveClient {
  const socket = createWSClient({
    url: trpcUrl(url).replace(/^http/u, 'ws'),
    connectionParams: () => authorization(key),
    lazy: { enabled: true, closeMs: IDLE_MS },
    retryDelayMs: (attempt) => Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** attempt),
    WebSocket: promptWebSocket(),
    keepAlive: { enabled: true, intervalMs: silence.pingMs, pongTimeoutMs: silence.pongMsMax },
    // what tRPC tells with it is an event, which says nothing
    onOpen: () => open?.(),
    onError: () => lost?.(),
  });
  return {
    api: createTRPCClient<AppRouter>({ links: [wsLink({ client: socket })] }),
    close: () => void socket.close(),
  };
}

function trpcUrl(url: string): string {
  if (!/^https?:\/\/[^/]/u.test(url) || !URL.canParse(url))
    throw new TypeError('the URL of the service should be such as https://fleet.example:44000'); // it may hold a password
  return url.replace(/(?:\/api\/v1)?\/*$/u, '/api/trpc');
}

function authorization(key: string | null): Record<string, string> {
  return key === null ? {} : { authorization: `Bearer ${key}` };
}

/** A running subscription. */
export interface Subscription {
  unsubscribe(): void;
}

/** What a subscription calls. */
export interface Handlers<M> {
  readonly onData: (message: { readonly id: string; readonly data: M }) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Subscribes, and again whenever the service says that it is not available: a cut connection comes back by itself, a
 * refusal does not. `subscribe` gets the id of the last message, to be passed on as `lastEventId`, so that nothing is
 * missed. `failed` is told of a refusal that stays.
 */
export function subscribePatiently<M>(
  subscribe: (handlers: Handlers<M>, lastEventId: string | undefined) => Subscription,
  { data, failed }: { readonly data: (message: M) => void; readonly failed: (error: unknown) => void },
): Subscription {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let lastEventId: string | undefined;
  let current: Subscription;
  const start = (): void => {
    current = subscribe(
      {
        onData(message) {
          lastEventId = message.id;
          data(message.data);
        },
        onError(error) {
          const refusal = refusalOf(error);
          if (refusal === null || !PASSING.has(refusal.code)) return failed(error);
          timer = setTimeout(start, pauseMs(refusal, REFUSED_MS));
        },
      },
      lastEventId,
    );
  };
  start();
  return {
    unsubscribe() {
      if (timer !== null) clearTimeout(timer);
      current.unsubscribe();
    },
  };
}

/** How long to wait before what was refused is asked again, in ms: as the refusal says, or else `otherwiseMs`. */
export function pauseMs({ retry_after_seconds: seconds }: Refusal, otherwiseMs: number): number {
  const askedMs = (seconds ?? 0) * 1_000;
  return askedMs > 0 ? Math.min(askedMs, REFUSED_MS_MAX) : otherwiseMs;
}

/** Refusals of a subscription that pass by themselves. */
const PASSING: ReadonlySet<string> = new Set(['service_unavailable', 'rate_limited']);

/** Why the service refused, in the words of all its surfaces. */
export interface Refusal {
  /** Such as `not_found`; all of them are on the page of the API. */
  readonly code: string;
  readonly message: string;
  /** Field, as a dotted path → what is wrong with it. */
  readonly details: Readonly<Record<string, readonly string[]>> | null;
  /** Under which the admin's log has more. */
  readonly request_id: string | null;
  /** When to try again, where it passes by itself. */
  readonly retry_after_seconds: number | null;
}

/** The refusal in what a call threw; null where the service was not reached, or something else answered. */
export function refusalOf(error: unknown): Refusal | null {
  if (!(error instanceof Error)) return null;
  const { data } = error as { readonly data?: Partial<Refusal> | null };
  if (typeof data?.code !== 'string') return null;
  const { code, details = null, request_id = null, retry_after_seconds = null } = data;
  return { code, message: error.message, details, request_id, retry_after_seconds };
}

/** Aborts when one of them does: that of all calls, or that of this one. */
function either(all: AbortSignal, one: AbortSignal | null | undefined): AbortSignal {
  return one == null ? all : AbortSignal.any([all, one]);
}
