/** The typed client of the service. It knows the router by its type only. */
import { createTRPCClient, createWSClient, httpLink, wsLink, type TRPCClient } from '@trpc/client';
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';
import type { AppRouter } from '../api/trpc/router.ts';
import type { Connection } from './connection.ts';

/** Every operation and subscription, typed. */
export type Api = TRPCClient<AppRouter>;
/** What operations take, by name. */
export type Inputs = inferRouterInputs<AppRouter>;
/** What operations answer, by name. */
export type Outputs = inferRouterOutputs<AppRouter>;

/** A node, as the service answers it. */
export type Node = Outputs['get_node'];
/** An execution, as the service answers it. */
export type Execution = Outputs['get_command_execution'];
/** A command, as the service answers it. */
export type Command = Outputs['get_command'];

/** Wait before a lost live connection is opened again, in ms: doubled each time, up to the second. */
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 5_000;

/**
 * A connection without subscriptions is closed after this, in ms. tRPC looks this often whether there are any: not 0,
 * which keeps it busy.
 */
const IDLE_MS = 10_000;

/** Calls go over HTTP. */
export function createClient({ url, key }: Connection): Api {
  return createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${url}/api/trpc`, headers: () => authorization(key) })],
  });
}

/** A client of the live feeds, over one WebSocket that comes back by itself. */
export interface LiveClient {
  readonly api: Api;
  close(): void;
}

/** Who hears of the WebSocket: that it is open, and that it broke or cannot be opened. It is tried again by itself. */
export interface LiveListener {
  readonly open?: () => void;
  readonly lost?: () => void;
}

/** Opens the WebSocket at the first subscription. */
export function createLiveClient({ url, key }: Connection, { open, lost }: LiveListener = {}): LiveClient {
  const socket = createWSClient({
    url: `${url.replace(/^http/u, 'ws')}/api/trpc`,
    connectionParams: () => authorization(key),
    lazy: { enabled: true, closeMs: IDLE_MS },
    retryDelayMs: (attempt) => Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** attempt),
    // what tRPC tells with it is an event, which says nothing
    onOpen: () => open?.(),
    onError: () => lost?.(),
  });
  return {
    api: createTRPCClient<AppRouter>({ links: [wsLink({ client: socket })] }),
    close: () => void socket.close(),
  };
}

function authorization(key: string | null): Record<string, string> {
  return key === null ? {} : { authorization: `Bearer ${key}` };
}
