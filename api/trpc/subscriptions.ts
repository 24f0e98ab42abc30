/** The live feeds as tRPC subscriptions, over WebSocket and SSE. */
import { tracked, TRPCError, type TrackedEnvelope } from '@trpc/server';
import { z } from 'zod';
import { EVENT_TYPES } from '../../actors/events.ts';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import { refuse, UNAVAILABLE, type Refusal, type Result } from '../../actors/refusal.ts';
import { CommandIdInput, ExecutionIdInput } from '../inputs/inputs.ts';
import { IN_WORDS } from '../inputs/issue-words.ts';
import { listInput } from '../inputs/list-input.ts';
import { detailsOf } from '../inputs/parse.ts';
import { createShares, type ShareLimits } from '../shares.ts';
import { LATEST_EVENTS_MAX } from '../feeds/limits.ts';
import { FollowedIsGone, type Subscriber, type Tracked } from '../feeds/subscription.ts';
import { NOT_FOUND } from '../reading.ts';
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
const EventsInput = z.strictObject({
  types: z.array(z.enum(EVENT_TYPES)).max(EVENT_TYPES.length).optional(),
  latest: z.int().min(0).max(LATEST_EVENTS_MAX).optional(),
  ...Resumable.shape,
});

/**
 * Subscriptions at a time over all connections and server-sent events, and of these with one key and from one address.
 */
export const SUBSCRIPTIONS: ShareLimits = { placesMax: 20_000, ofOneKeyMax: 16_000, ofOneAddressMax: 8_000 };

/** `nodes.watch`, `commands.watch`, `executions.tail` and `events.watch`. */
export function createSubscriptions({ gate, feeds }: RouterKit) {
  const shares = createShares(SUBSCRIPTIONS);
  const admit = createAdmission(gate);

  type Start<M> = (subscriber: Subscriber) => Promise<Result<AsyncGenerator<Tracked<M>, void, undefined>>>;

  async function subscribe<M>(
    ctx: TrpcContext,
    signal: AbortSignal | undefined,
    resume: Resume,
    start: Start<M>,
  ): Promise<AsyncIterable<TrackedEnvelope<M>>> {
    const caller = ctx.caller();
    const { requestId } = caller;
    const started = await start({
      lastEventId: resume.lastEventId ?? undefined,
      signal: signal ?? new AbortController().signal,
    }).catch(failed);
    const take = (): (() => void) | null => shares.take(gate.identify(caller) ?? 'anonymous', caller.address);
    return started.ok ? told(started.value, ctx, requestId, take) : throwRefusal(started.refusal, requestId);
  }

  return {
    nodes: trpc.router({
      watch: trpc.procedure
        .input((raw: unknown) => raw as NodesInput)
        .subscription(({ input, ctx, signal }) => {
          const { lastEventId, ...filters } = admit(Resumable.loose(), input, ctx);
          const query = admit(nodeFilters, withoutPages(filters, ctx), ctx);
          return subscribe(ctx, signal, { lastEventId }, (subscriber) => feeds.nodes.watch(query.filters, subscriber));
        }),
    }),
    commands: trpc.router({
      watch: trpc.procedure
        .input((raw: unknown) => raw as z.input<typeof CommandInput>)
        .subscription(({ input, ctx, signal }) => {
          const { id, lastEventId } = admit(CommandInput, input, ctx);
          return subscribe(ctx, signal, { lastEventId }, (subscriber) => feeds.commands.watch(id, subscriber));
        }),
    }),
    executions: trpc.router({
      tail: trpc.procedure
        .input((raw: unknown) => raw as z.input<typeof TailInput>)
        .subscription(({ input, ctx, signal }) => {
          const { id, lastEventId } = admit(TailInput, input, ctx);
          return subscribe(ctx, signal, { lastEventId }, (subscriber) => feeds.executions.tail(id, subscriber));
        }),
    }),
    events: trpc.router({
      watch: trpc.procedure
        .input((raw: unknown) => raw as z.input<typeof EventsInput> | void)
        .subscription(({ input, ctx, signal }) => {
          const { types = [], latest = 0, lastEventId } = admit(EventsInput, input, ctx);
          return subscribe(ctx, signal, { lastEventId }, (subscriber) =>
            Promise.resolve({ ok: true, value: feeds.events.watch({ types, latest }, subscriber) }),
          );
        }),
    }),
  };
}

/** What was asked for, of somebody who may ask; else the refusal is thrown. */
function createAdmission(gate: RouterKit['gate']) {
  return <S extends z.ZodType>(schema: S, raw: unknown, ctx: TrpcContext): z.output<S> => {
    const caller = ctx.caller();
    const admitted = gate.admit('api', caller);
    if (!admitted.ok) return throwRefusal(admitted.refusal, caller.requestId);
    const parsed = schema.safeParse(raw ?? {}, IN_WORDS);
    return parsed.success
      ? parsed.data
      : throwRefusal(
          refuse('bad_request', 'Malformed parameter', detailsOf(parsed.error.issues, schema)).refusal,
          caller.requestId,
        );
  };
}

/**
 * Passes messages on as fast as the connection takes them. A failure ends the subscription; the client comes back by
 * itself.
 */
async function* told<M>(
  messages: AsyncGenerator<Tracked<M>, void, undefined>,
  ctx: TrpcContext,
  requestId: string,
  take: () => (() => void) | null,
): AsyncGenerator<TrackedEnvelope<M>, void, undefined> {
  if (!ctx.begin()) throwRefusal(TOO_MANY_CALLS, requestId);
  const leave = take();
  try {
    if (leave === null) throwRefusal(TOO_MANY_SUBSCRIPTIONS, requestId);
    for await (const { id, data } of messages) {
      yield tracked(id, data);
      const room = ctx.room();
      if (room !== null) await room;
    }
  } catch (error) {
    if (error instanceof TRPCError) throw error;
    throwRefusal(failed(error).refusal, requestId);
  } finally {
    leave?.();
    ctx.done();
  }
}

const TOO_MANY_SUBSCRIPTIONS: Refusal = {
  ...refuse(
    'service_unavailable',
    'Too many live feeds are open with this key or from this address. Close some, or try again later.',
  ).refusal,
  retryAfterSeconds: 1,
};

function failed(error: unknown): { readonly ok: false; readonly refusal: Refusal } {
  if (error instanceof FollowedIsGone) return refuse('not_found', NOT_FOUND);
  if (error instanceof DatabaseUnavailable) return { ok: false, refusal: UNAVAILABLE };
  throw error;
}

function withoutPages(filters: Readonly<Record<string, unknown>>, ctx: TrpcContext): Readonly<Record<string, unknown>> {
  const paging = ['page', 'page_size', 'sort'].filter((name) => name in filters);
  return paging.length === 0
    ? filters
    : throwRefusal(
        refuse('bad_request', 'Malformed parameter', Object.fromEntries(paging.map((name) => [name, ['is not known']])))
          .refusal,
        ctx.caller().requestId,
      );
}
