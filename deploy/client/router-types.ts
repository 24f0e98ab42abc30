/** The type of the router, for those who bring a tRPC client of their own: `router.d.ts`. */
export const ROUTER_TYPES = `/** The router, as a tRPC client of your own wants it: createTRPCClient<AppRouter>. Needs @trpc/server 11 for its types. */
import type { TRPCBuiltRouter, TRPCMutationProcedure, TRPCQueryProcedure, TRPCSubscriptionProcedure } from '@trpc/server';
import type { Feeds, Operations } from './api.js';
import type { Refusal } from './client.js';

type Procedures = {
  [Name in keyof Operations]: Operations[Name]['kind'] extends 'query'
    ? TRPCQueryProcedure<{ input: Operations[Name]['input']; output: Operations[Name]['output']; meta: object }>
    : TRPCMutationProcedure<{ input: Operations[Name]['input']; output: Operations[Name]['output']; meta: object }>;
};

type Watched<Name extends keyof Feeds> = TRPCSubscriptionProcedure<{
  input: Feeds[Name]['input'];
  output: AsyncIterable<{ id: string; data: Feeds[Name]['message'] }>;
  meta: object;
}>;

/** \`data\` of an error. */
export type ErrorData = Omit<Refusal, 'message'> & { httpStatus: number; path: string | null };

/** All that a client needs to know of the service. */
export type AppRouter = TRPCBuiltRouter<
  { ctx: object; meta: object; errorShape: { message: string; code: number; data: ErrorData }; transformer: false },
  Procedures & {
    nodes: { watch: Watched<'nodes.watch'> };
    commands: { watch: Watched<'commands.watch'> };
    executions: { tail: Watched<'executions.tail'> };
    events: { watch: Watched<'events.watch'> };
  }
>;
`;
