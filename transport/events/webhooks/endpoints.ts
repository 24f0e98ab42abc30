/**
 * Webhooks that are open at the moment, within bounds: opening one costs two decryptions, keeping one costs memory and
 * sockets.
 */
import type { WebhookRecord } from '../../../actors/records.ts';
import { createEndpoint, type Endpoint, type EndpointOptions } from './endpoint.ts';
import { ENDPOINT_IDLE_MS_MAX, ENDPOINT_SWEEP_MS, ENDPOINTS_MAX } from './limits.ts';

/** Open webhooks by id. */
export interface Endpoints {
  /** Opens it, or takes the one that is open. Throws when it cannot be opened. */
  of(webhook: WebhookRecord): Endpoint;
  /** Ends its requests and forgets it. */
  cut(webhook: string): void;
  /** Forgets those without a request for long. */
  sweep(): void;
  readonly size: number;
  /** Cuts all. Resolves when the sockets are closed. */
  close(): Promise<void>;
}

/** None at first. */
export function createEndpoints(options: EndpointOptions & { readonly monotonicMs: () => number }): Endpoints {
  const { monotonicMs } = options;
  const open = new Map<string, Endpoint>();
  const sweeping = setInterval(sweep, ENDPOINT_SWEEP_MS).unref();

  function sweep(): void {
    const bornMs = monotonicMs() - ENDPOINT_IDLE_MS_MAX;
    for (const [id, endpoint] of open) {
      if (endpoint.users === 0 && endpoint.usedMs <= bornMs) void forget(id, endpoint);
    }
  }

  function makeRoom(): void {
    if (open.size < ENDPOINTS_MAX) return;
    const idle = [...open].filter(([, { users }]) => users === 0);
    const [longest] = idle.toSorted(([, a], [, b]) => a.usedMs - b.usedMs);
    if (longest !== undefined) void forget(...longest);
  }

  function forget(id: string, endpoint: Endpoint): Promise<void> {
    open.delete(id);
    endpoint.isCut = true;
    endpoint.connections.shut();
    for (const request of endpoint.requests) request.cut();
    return endpoint.connections.destroy();
  }

  return {
    of(webhook) {
      let endpoint = open.get(webhook.id);
      if (endpoint === undefined) {
        makeRoom();
        endpoint = createEndpoint(webhook, options);
        open.set(webhook.id, endpoint);
      }
      endpoint.usedMs = monotonicMs();
      return endpoint;
    },
    cut(webhook) {
      const endpoint = open.get(webhook);
      if (endpoint !== undefined) void forget(webhook, endpoint);
    },
    sweep,
    get size() {
      return open.size;
    },
    async close() {
      clearInterval(sweeping);
      await Promise.all([...open].map(([id, endpoint]) => forget(id, endpoint)));
    },
  };
}
