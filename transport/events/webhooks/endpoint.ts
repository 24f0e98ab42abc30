/** One webhook as requests go to it: where, over which connections, with which headers, how signed. */
import type { buildConnector, Dispatcher } from 'undici';
import type { WebhookRecord } from '../../../actors/records.ts';
import { webhookHeaders, webhookSecret } from '../../../actors/sealed-columns.ts';
import { hideValues } from './hidden-values.ts';
import { ReceiverConnections } from './receiver-connections.ts';
import type { WebhookRequest } from './webhook-request.ts';
import { createSign, type Sign } from './signature.ts';

/**
 * Sent as it is stored, byte for byte. Source: docs/events.md; CloudEvents HTTP binding 1.0.2,
 * structured mode.
 */
const CONTENT_TYPE = 'application/cloudevents+json';

/** One webhook, open. It holds secrets, and goes when its webhook goes. */
export interface Endpoint {
  readonly connections: ReceiverConnections;
  /** The request of one try of an event: `timestamp` in Unix seconds. */
  request(eventId: string, body: Uint8Array, timestamp: number): Dispatcher.DispatchOptions;
  /** An answer without the values of the webhook's own headers. */
  readonly hide: (answer: string) => string;
  /** Requests under way. */
  readonly requests: Set<WebhookRequest>;
  /** Callers that hold it: then it is not forgotten. */
  users: number;
  usedMs: number;
  /** Set when its webhook was cut: what was about to start must not. */
  isCut: boolean;
}

/** Opens the secrets of webhooks. */
export interface Vault {
  /** What was sealed under ENCRYPTION_KEY for this row and column. Throws when it was not. */
  open(sealed: string, boundTo: string): string;
}

/** What endpoints are made of. */
export interface EndpointOptions {
  readonly vault: Vault;
  readonly connect: buildConnector.connector;
  readonly connectionsMax: number;
  readonly userAgent: string;
}

/** Opens a webhook. Throws when its secret or headers do not open under this key, or its URL is none. */
export function createEndpoint(
  webhook: WebhookRecord,
  { vault, connect, connectionsMax, userAgent }: EndpointOptions,
): Endpoint {
  const url = new URL(webhook.url);
  const sign = createSign(vault.open(webhook.sealedSecret, webhookSecret(webhook.id)));
  const own = JSON.parse(vault.open(webhook.sealedHeaders, webhookHeaders(webhook.id))) as Record<string, string>;
  return {
    connections: new ReceiverConnections(url.origin, connect, connectionsMax),
    request: requestOf(`${url.pathname}${url.search}`, sign, userAgent, Object.entries(own).flat()),
    hide: hideValues(Object.values(own)),
    requests: new Set(),
    users: 0,
    usedMs: 0,
    isCut: false,
  };
}

/** The webhook's own headers were checked against ours when it was created; see actors/webhook/headers.ts. */
function requestOf(path: string, sign: Sign, userAgent: string, own: readonly string[]): Endpoint['request'] {
  return (eventId, body, timestamp) => {
    const signatures = sign(eventId, timestamp, body);
    return {
      method: 'POST',
      path,
      body,
      headers: [
        'content-type',
        CONTENT_TYPE,
        'user-agent',
        userAgent,
        'x-edge-signature',
        signatures.edge,
        'webhook-id',
        eventId,
        'webhook-timestamp',
        String(timestamp),
        'webhook-signature',
        signatures.standard,
        ...own,
      ],
    };
  };
}
