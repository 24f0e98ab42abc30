/** Subscriptions that outlive an admin which cannot serve them just now. */

/** Wait before a refused subscription is tried again, in ms. */
const RETRY_MS = 1_000;

interface Subscription {
  unsubscribe(): void;
}

/** What tRPC calls back. */
interface Handlers<M> {
  readonly onData: (message: { readonly data: M }) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Subscribes, and again whenever the service says that it is not available: a cut connection comes back by itself, a
 * refusal does not.
 */
export function subscribePatiently<M>(
  subscribe: (handlers: Handlers<M>) => Subscription,
  { data, failed }: { readonly data: (message: M) => void; readonly failed: (error: unknown) => void },
): Subscription {
  let timer: NodeJS.Timeout | null = null;
  let current: Subscription;
  const start = (): void => {
    current = subscribe({
      onData: (message) => data(message.data),
      onError(error) {
        if (isUnavailable(error)) timer = setTimeout(start, RETRY_MS);
        else failed(error);
      },
    });
  };
  start();
  return {
    unsubscribe() {
      if (timer !== null) clearTimeout(timer);
      current.unsubscribe();
    },
  };
}

function isUnavailable(error: unknown): boolean {
  return (error as { readonly data?: { readonly code?: unknown } | null }).data?.code === 'service_unavailable';
}
