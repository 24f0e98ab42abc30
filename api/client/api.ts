/**
 * What a client may ask for and what it gets, as types alone. In the published package these types are written out from
 * the schemas of the operations, so that no code of the service goes along: deploy/client/api-types.ts.
 */
import type { TRPCClient } from '@trpc/client';
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';
import type { z } from 'zod';
import type { EVENT_DEFINITIONS } from '../../actors/event-catalogue.ts';
import type { Envelope, EventType } from '../../actors/events.ts';
import type { AppRouter } from '../trpc/router.ts';

/** Every operation and subscription. */
export type Api = TRPCClient<AppRouter>;

/** What operations take, by name. */
export type Inputs = inferRouterInputs<AppRouter>;

/** What operations answer, by name. */
export type Outputs = inferRouterOutputs<AppRouter>;

/** An event, as webhooks and brokers get it: its `type` says what is in its `data`. */
export type EdgeEvent = {
  readonly [T in EventType]: Omit<Envelope, 'type' | 'data'> & {
    readonly type: T;
    readonly data: z.output<(typeof EVENT_DEFINITIONS)[T]['data']>;
  };
}[EventType];
