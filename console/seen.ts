/** Feeds of a page that nobody sees stop after a while, and go on where they stood when it is seen again. */
import { effect, signal, untracked } from '@preact/signals';
import { subscribePatiently, type Handlers, type Subscription } from '../api/client/client.ts';

/** A page is taken for left when it was hidden for so long, in ms. */
export const HIDDEN_MS_MAX = 60_000;

/** Whether nobody looks, and nobody did for a minute. */
export const isLeft = signal(false);

/** Follows whether the page is seen. */
export function startSeen(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => (isLeft.value = true), HIDDEN_MS_MAX);
    else isLeft.value = false;
  };
  document.addEventListener('visibilitychange', look);
  look();
}

/**
 * `subscribePatiently` for as long as the page is not left. On return it goes on after the last message that came, or
 * with a snapshot where the service has forgotten that one. What was refused for good stays so.
 */
export function subscribeWhileSeen<M>(
  subscribe: (handlers: Handlers<M>, lastEventId: string | undefined) => Subscription,
  { data, failed }: { readonly data: (message: M) => void; readonly failed: (error: unknown) => void },
): Subscription {
  let lastEventId: string | undefined;
  let current: Subscription | null = null;
  let isOver = false;
  const start = (): Subscription =>
    subscribePatiently<M>(
      (handlers, id) =>
        subscribe(
          {
            ...handlers,
            onData(message) {
              lastEventId = message.id;
              handlers.onData(message);
            },
          },
          id ?? lastEventId,
        ),
      {
        data,
        failed(error) {
          isOver = true;
          failed(error);
        },
      },
    );
  const stop = (): void => {
    current?.unsubscribe();
    current = null;
  };
  const unfollow = effect(() => {
    if (isLeft.value) stop();
    else if (!isOver) current ??= untracked(start);
  });
  return {
    unsubscribe() {
      unfollow();
      stop();
    },
  };
}
