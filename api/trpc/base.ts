/** tRPC with our context and error shape: what router and subscriptions are made of. */
import { initTRPC } from '@trpc/server';
import { refuse, type Refusal } from '../../actors/refusal.ts';
import type { CallOperation } from '../call.ts';
import type { Feeds } from '../feeds/feeds.ts';
import type { Gate } from '../principals.ts';
import type { TrpcContext } from './context.ts';
import { errorShape } from './errors.ts';

/** What the procedures do their work with. */
export interface RouterKit {
  readonly call: CallOperation;
  readonly gate: Gate;
  readonly feeds: Feeds;
}

/** A silent SSE stream says something this often, in ms; a client that hears nothing for longer reconnects. */
const SSE_PING_MS = 10_000;
const SSE_SILENCE_MS_MAX = 25_000;

/** The tRPC instance of this API. Errors carry our refusals and never a stack. */
export const trpc = initTRPC.context<TrpcContext>().create({
  isDev: false,
  errorFormatter: ({ shape, error, path }) => errorShape(error, path, shape.code),
  sse: { ping: { enabled: true, intervalMs: SSE_PING_MS }, client: { reconnectAfterInactivityMs: SSE_SILENCE_MS_MAX } },
});

/** One connection asked for too much at a time. */
export const TOO_MANY_CALLS: Refusal = {
  ...refuse('rate_limited', 'Too many calls at a time on this connection. Wait for answers.').refusal,
  retryAfterSeconds: 1,
};
