/** The live feeds as tRPC subscriptions, over WebSocket and SSE. */
import { tracked, type TrackedEnvelope } from '@trpc/server';
import { z } from 'zod';
import { EVENT_TYPES } from '../../actors/events.ts';
import { DatabaseUnavailable } from '../../actors/kit/ports.ts';
import { refuse, UNAVAILABLE, type Result } from '../../actors/refusal.ts';
import { CommandIdInput, ExecutionIdInput } from '../inputs.ts';
import { listInput } from '../list-input.ts';
import { detailsOf } from '../parse.ts';
import type { Subscriber, Tracked } from '../feeds/subscription.ts';
import { TOO_MANY_CALLS, trpc, type RouterKit } from './base.ts';
import type { TrpcContext } from './context.ts';
import { throwRefusal } from './errors.ts';

/** Longest id that a feed ever gave, with room, in characters. */
const LAST_EVENT_ID_CHARACTERS_MAX = 128;

const Resumable = z.object({ lastEventId: z.string().max(LAST_EVENT_ID_CHARACTERS_MAX).nullish() });

/** The last id that the client saw; its library adds it when it reconnects. */
interface Resume {
  readonly lastEventId?: string | null | undefined;
}

const nodeFilters = listInput('nodes');

/** Filters as in `list_nodes`; pages and order are those of a list. */
type NodesInput = (Omit<z.input<typeof nodeFilters>, 'page' | 'page_size' | 'sort'> & Resume) | void;

const CommandInput = z.strictObject({ id: CommandIdInput, ...Resumable.shape });
const TailInput = z.strictObject({ id: ExecutionIdInput, ...Resumable.shape });
const EventsInput = z.strictObject({ types: z.array(z.enum(EVENT_TYPES)).max(EVENT_TYPES.length).optional(), ...Resumable.shape });

/** `nodes.watch`, `commands.watch`, `executions.tail` and `events.watch`. */
export function createSubscriptions({ gate, feeds }: RouterKit) {
  type Start<M> = (subscriber: Subscriber) => Promise<Result<AsyncGenerator<Tracked<M>, void, undefined>>>;

  async function subscribe<M>(ctx: TrpcContext, signal: AbortSignal | undefined, resume: Resume, start: Start<M>): Promise<AsyncIterable<TrackedEnvelope<M>>> {
    const { requestId } = ctx.caller();
    const started = await start({ lastEventId: resume.lastEventId ?? undefined, signal: signal ?? new AbortController().signal }).catch(failed);
    return started.ok ? told(started.value, ctx, requestId) : throwRefusal(started.refusal, requestId);
  }

  function admit<I>(schema: { safeParse(raw: unknown): z.ZodSafeParseResult<I> }, raw: unknown, ctx: TrpcContext): I {
    const caller = ctx.caller();
    const admitted = gate.admit('api', caller);
    if (!admitted.ok) return throwRefusal(admitted.refusal, caller.requestId);
    const parsed = schema.safeParse(raw ?? {});
    return parsed.success ? parsed.data : throwRefusal(refuse('bad_request', 'Malformed parameter', detailsOf(parsed.error.issues)).refusal, caller.requestId);
  }

  return {
    nodes: trpc.router({
      watch: trpc.procedure.input((raw: unknown) => raw as NodesInput).subscription(({ input, ctx, signal }) => {
        const { lastEventId, ...filters } = admit(Resumable.loose(), input, ctx);
        const query = admit(nodeFilters, withoutPages(filters, ctx), ctx);
        return subscribe(ctx, signal, { lastEventId }, (subscriber) => feeds.nodes.watch(query.filters, subscriber));
      }),
    }),
    commands: trpc.router({
      watch: trpc.procedure.input((raw: unknown) => raw as z.input<typeof CommandInput>).subscription(({ input, ctx, signal }) => {
        const { id, lastEventId } = admit(CommandInput, input, ctx);
        return subscribe(ctx, signal, { lastEventId }, (subscriber) => feeds.commands.watch(id, subscriber));
      }),
    }),
    executions: trpc.router({
      tail: trpc.procedure.input((raw: unknown) => raw as z.input<typeof TailInput>).subscription(({ input, ctx, signal }) => {
        const { id, lastEventId } = admit(TailInput, input, ctx);
        return subscribe(ctx, signal, { lastEventId }, (subscriber) => feeds.executions.tail(id, subscriber));
      }),
    }),
    events: trpc.router({
      watch: trpc.procedure.input((raw: unknown) => raw as z.input<typeof EventsInput> | void).subscription(({ input, ctx, signal }) => {
        const { types, lastEventId } = admit(EventsInput, input, ctx);
        return subscribe(ctx, signal, { lastEventId }, (subscriber) => Promise.resolve({ ok: true, value: feeds.events.watch(types ?? [], subscriber) }));
      }),
    }),
  };
}

/** Passes messages on as fast as the connection takes them. A failure ends the subscription; the client comes back by itself. */
async function* told<M>(messages: AsyncGenerator<Tracked<M>, void, undefined>, ctx: TrpcContext, requestId: string): AsyncGenerator<TrackedEnvelope<M>, void, undefined> {
  if (!ctx.begin()) throwRefusal(TOO_MANY_CALLS, requestId);
  try {
    for await (const { id, data } of messages) {
      yield tracked(id, data);
      const room = ctx.room();
      if (room !== null) await room;
    }
  } catch (error) {
    throwRefusal(failed(error).refusal, requestId);
  } finally {
    ctx.done();
  }
}

function failed(error: unknown): { readonly ok: false; readonly refusal: typeof UNAVAILABLE } {
  if (error instanceof DatabaseUnavailable) return { ok: false, refusal: UNAVAILABLE };
  throw error;
}

function withoutPages(filters: Readonly<Record<string, unknown>>, ctx: TrpcContext): Readonly<Record<string, unknown>> {
  const paging = ['page', 'page_size', 'sort'].filter((name) => name in filters);
  return paging.length === 0 ? filters : throwRefusal(refuse('bad_request', 'Malformed parameter', Object.fromEntries(paging.map((name) => [name, ['is not known']]))).refusal, ctx.caller().requestId);
}
