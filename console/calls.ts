/**
 * How calls go over the connection of a page: those that change something now or never, and what is said where it is
 * lost.
 */
import { TRPCClientError, type TRPCLink } from '@trpc/client';
import { observable, type Unsubscribable } from '@trpc/server/observable';
import type { AppRouter } from '../api/trpc/router.ts';
import { refusalOf } from '../api/client/client.ts';
import { isNotSent, NotSent } from './failure.ts';
import { TEXTS } from './texts.ts';

/** What is sent now or never: what changes something, or all that is no feed, as it leads to a change. */
export type Held = 'changes' | 'all';

/**
 * What changes something is sent at once, or refused as `NotSent`: tRPC itself keeps it until the connection is back,
 * when whoever asked for it may have given up long ago. `isOpen`: whether there is a connection; it may wait for the
 * first.
 */
export function sentNowOrNever(isOpen: () => Promise<boolean>, held: Held): TRPCLink<AppRouter> {
  return () =>
    ({ op, next }) => {
      if (op.type === 'subscription' || (op.type === 'query' && held === 'changes')) return next(op);
      return observable((observer) => {
        let sent: Unsubscribable | null = null;
        let isOver = false;
        const send = async (): Promise<void> => {
          const isIt = await isOpen();
          if (isOver) return;
          if (isIt) sent = next(op).subscribe(observer);
          else observer.error(TRPCClientError.from(new NotSent()));
        };
        void send();
        return () => {
          isOver = true;
          sent?.unsubscribe();
        };
      });
    };
}

/** Nothing goes over a connection that was closed for good: tRPC would open it again for whatever is asked. */
export function notOnceClosed(isClosed: () => boolean): TRPCLink<AppRouter> {
  return () =>
    ({ op, next }) =>
      isClosed() ? observable((observer) => observer.error(TRPCClientError.from(new NotSent()))) : next(op);
}

/** A call whose answer is lost says so: of tRPC it is an event, which has no words. */
export const saidWhenLost: TRPCLink<AppRouter> =
  () =>
  ({ op, next }) => {
    const { type } = op;
    if (type === 'subscription') return next(op);
    return observable((observer) =>
      next(op).subscribe({
        next: (answer) => observer.next(answer),
        complete: () => observer.complete(),
        error(error) {
          const isLost = refusalOf(error) === null && !isNotSent(error);
          observer.error(isLost ? new TRPCClientError(TEXTS.calls.lost[type], { cause: error }) : error);
        },
      }),
    );
  };
