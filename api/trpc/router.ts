/**
 * The tRPC router: one procedure an operation of the catalogue, under its name, and the live feeds as subscriptions.
 */
import type { TRPCMutationProcedure, TRPCQueryProcedure } from '@trpc/server';
import type { z } from 'zod';
import type { Answer, CallOperation } from '../call.ts';
import { catalogue, type Catalogue, type OperationName } from '../catalogue.ts';
import { keyed, type Keyed } from '../idempotency.ts';
import type { AnyOperation } from '../operation.ts';
import { TOO_MANY_CALLS, trpc, type RouterKit } from './base.ts';
import type { TrpcContext } from './context.ts';
import { throwRefusal } from './errors.ts';
import { createSubscriptions } from './subscriptions.ts';

type InputOf<O extends AnyOperation> = O['name'] extends `create_${string}`
  ? z.input<O['input']> & Keyed
  : z.input<O['input']>;

/** An operation as a procedure: lists answer `{data, pagination}`, others the resource. */
export type ProcedureOf<O extends AnyOperation> = O['kind'] extends 'query'
  ? TRPCQueryProcedure<{ input: z.input<O['input']>; output: Answer<O>; meta: object }>
  : TRPCMutationProcedure<{ input: InputOf<O>; output: Answer<O>; meta: object }>;

type Procedures = { readonly [Name in OperationName]: ProcedureOf<Catalogue[Name]> };

/** The router over an admin. */
export function createRouter(kit: RouterKit) {
  return trpc.router({ ...proceduresOf(kit.call), ...createSubscriptions(kit) });
}

/** Its type: all that clients need. */
export type AppRouter = ReturnType<typeof createRouter>;

function proceduresOf(call: CallOperation): Procedures {
  const procedures = Object.values(catalogue).map((operation: AnyOperation) => {
    // Input is parsed on the one path that all surfaces share, so that all refuse alike.
    const procedure = trpc.procedure.input((raw: unknown) => raw);
    const answer = ({ input, ctx }: { readonly input: unknown; readonly ctx: TrpcContext }) =>
      answered(call, operation, input, ctx);
    return [operation.name, operation.kind === 'query' ? procedure.query(answer) : procedure.mutation(answer)] as const;
  });
  return Object.fromEntries(procedures) as unknown as Procedures;
}

async function answered(
  call: CallOperation,
  operation: AnyOperation,
  input: unknown,
  ctx: TrpcContext,
): Promise<unknown> {
  const [rawInput, caller] = keyed(operation, input, ctx.caller());
  if (!ctx.begin()) return throwRefusal(TOO_MANY_CALLS, caller.requestId);
  try {
    const result = await call(operation, rawInput, caller);
    return result.ok ? result.value : throwRefusal(result.refusal, caller.requestId);
  } finally {
    ctx.done();
  }
}
