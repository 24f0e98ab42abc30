/** Real, typed tRPC clients over each way in. */
import { once } from 'node:events';
import {
  createTRPCClient,
  createWSClient,
  httpBatchLink,
  httpLink,
  httpSubscriptionLink,
  splitLink,
  TRPCClientError,
  wsLink,
  type TRPCClient,
} from '@trpc/client';
import type { ExecutionContext } from 'ava';
import { EventSource } from 'eventsource';
import { WebSocket } from 'ws';
import type { AppRouter } from '../../../api/trpc/router.ts';

/** A client that knows every procedure by its type. */
export type Client = TRPCClient<AppRouter>;

/** One request a call, subscriptions as server-sent events. */
export function httpClient(url: string, key: string | null): Client {
  return createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: httpSubscriptionLink({ url: `${url}/api/trpc`, EventSource, connectionParams: () => authorization(key) }),
        false: httpLink({ url: `${url}/api/trpc`, headers: () => authorization(key) }),
      }),
    ],
  });
}

/** As `httpClient`, with queries in the body of a POST as well. */
export function postClient(url: string, key: string | null): Client {
  return createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${url}/api/trpc`, methodOverride: 'POST', headers: () => authorization(key) })],
  });
}

/** Calls of one tick in one request. */
export function batchClient(url: string, key: string | null): Client {
  return createTRPCClient<AppRouter>({
    links: [httpBatchLink({ url: `${url}/api/trpc`, headers: () => authorization(key) })],
  });
}

/** Everything over one WebSocket, which the test ends. */
export function socketClient(t: ExecutionContext, url: string, key: string | null): Client {
  const client = createWSClient({
    url: `${url.replace('http', 'ws')}/api/trpc`,
    WebSocket: WebSocket as never,
    connectionParams: () => authorization(key),
    retryDelayMs: () => 10,
  });
  t.teardown(() => client.close());
  return createTRPCClient<AppRouter>({ links: [wsLink({ client })] });
}

/** A bare WebSocket that the test ends; what it fails with is nobody's. */
export async function openSocket(
  t: ExecutionContext,
  url: string,
  headers: Readonly<Record<string, string>> = {},
  query = '',
): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/trpc${query}`, { headers });
  t.teardown(() => socket.terminate());
  await once(
    socket.on('error', () => {}),
    'open',
  );
  return socket;
}

function authorization(key: string | null): Record<string, string> {
  return key === null ? {} : { authorization: `Bearer ${key}` };
}

/** What a failed call says: message, and the data that clients decide by. */
export async function failure(
  call: Promise<unknown>,
): Promise<{ readonly message: string; readonly data: unknown; readonly raw: string }> {
  try {
    await call;
  } catch (error) {
    if (error instanceof TRPCClientError)
      return { message: error.message, data: error.data as unknown, raw: JSON.stringify(error.shape) };
    throw error;
  }
  throw new Error('the call did not fail');
}
