/**
 * Requests to webhooks: each try is one signed POST of the stored envelope, within one time limit, and never rejects.
 */
import type { buildConnector } from 'undici';
import type { Log } from '../../net/log.ts';
import type { WebhookRecord } from '../../../actors/records.ts';
import type { Attempt, DeliveryRef } from '../../../actors/webhook/delivery.ts';
import { retryAfterMs } from './answer.ts';
import { answerClass, createCounters, type WebhookCounters } from './counters.ts';
import type { Endpoint, Vault } from './endpoint.ts';
import { createEndpoints, type Endpoints } from './endpoints.ts';
import type { Failure } from './failures.ts';
import { BODY_RETRY_MS } from './limits.ts';
import { WebhookRequest, type Outcome } from './webhook-request.ts';
import type { WebhookSender } from '../../../supervisors/ports.ts';

/** What the requests take. */
export interface WebhookSenderOptions {
  readonly vault: Vault;
  /** The guard's connector: it decides at each dial where a request may go (R2). */
  readonly connect: buildConnector.connector;
  /**
   * The whole envelope of the event at a cursor as it is sent, which is not changed here and may be shared; null when
   * it is gone. May reject: then it is asked again.
   */
  readonly bodyOf: (cursor: string) => Promise<Uint8Array | null>;
  /** Whether this admin is still the one that delivers. */
  readonly mayDeliver: () => boolean;
  /** For look-up, connection, TLS, sending, status and headers of one try, in ms: WEBHOOK_TIMEOUT_MS. */
  readonly timeoutMs: number;
  /** Connections to one webhook: WEBHOOK_CONCURRENCY. Requests beyond it wait for their turn. */
  readonly connectionsMax: number;
  /** Of the program, for `User-Agent`. */
  readonly version: string;
  /** Jitter of waits, from 0 to 1. */
  readonly random: () => number;
  readonly monotonicMs: () => number;
  readonly nowMs: () => number;
  readonly log: Log;
}

const EVENT_GONE: Failure = { kind: 'event-gone', sentence: 'The event is older than events are kept.' };
const UNSENDABLE: Failure = {
  kind: 'unsendable',
  sentence: 'The webhook could not be opened: its secret was stored under another key.',
};

/**
 * The port over HTTP. A status with whole headers is the answer, whatever becomes of the body: 3xx too, nothing is
 * followed. Connections are kept a few seconds; a try whose kept connection was just being closed is sent once more,
 * see webhook-request.ts.
 */
export class HttpWebhookSender implements WebhookSender {
  readonly counters: WebhookCounters = createCounters();
  readonly #options: WebhookSenderOptions;
  readonly #endpoints: Endpoints;
  #isClosed = false;

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
    this.#endpoints = createEndpoints({ ...options, userAgent: `edge-fleet-control/${options.version}` });
  }

  async send(webhook: WebhookRecord, delivery: DeliveryRef): Promise<Attempt | null> {
    if (this.#isClosed || !this.#options.mayDeliver()) return this.#cut();
    let endpoint: Endpoint;
    try {
      endpoint = this.#endpoints.of(webhook);
    } catch (error) {
      this.#options.log.error({ webhook: webhook.id, error }, 'a webhook could not be opened');
      return this.#failed(this.#options.nowMs(), 0, UNSENDABLE);
    }
    endpoint.users += 1;
    try {
      const body = await this.#readBody(endpoint, delivery.cursor);
      if (!this.#isWanted(endpoint)) return this.#cut(); // asked here, where nothing can come in between
      return body === null
        ? { ...this.#failed(this.#options.nowMs(), 0, EVENT_GONE), isLasting: true }
        : await this.#attempt(endpoint, delivery.eventId, body);
    } finally {
      endpoint.users -= 1;
    }
  }

  cut(webhook: string): void {
    this.#endpoints.cut(webhook);
  }

  /**
   * Cuts all requests: they come to null, as does every later one. Resolves when the sockets are closed. Waiting for
   * answers is up to the caller, before.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#endpoints.close();
  }

  /**
   * Null: it is gone, or nobody wants it any more. A database that does not answer costs the receiver no try, and no
   * time of it. Those that it left alone together do not come back together.
   */
  async #readBody(endpoint: Endpoint, cursor: string): Promise<Uint8Array | null> {
    while (this.#isWanted(endpoint)) {
      try {
        return await this.#options.bodyOf(cursor);
      } catch (error) {
        this.#options.log.warn({ error }, 'an event could not be read for its webhooks');
      }
      await new Promise((resolve) => {
        setTimeout(resolve, BODY_RETRY_MS * (0.5 + this.#options.random() / 2)).unref();
      });
    }
    return null;
  }

  #isWanted(endpoint: Endpoint): boolean {
    return !endpoint.isCut && this.#options.mayDeliver();
  }

  #attempt(endpoint: Endpoint, eventId: string, body: Uint8Array): Promise<Attempt | null> {
    const { timeoutMs, mayDeliver, monotonicMs, nowMs } = this.#options;
    this.counters.requests += 1;
    return new Promise((resolve) => {
      const begun = new WebhookRequest({
        connections: endpoint.connections,
        request: (atMs) => endpoint.request(eventId, body, Math.floor(atMs / 1_000)),
        timeoutMs,
        mayDeliver,
        monotonicMs,
        nowMs,
        onResent: this.#onResent,
        onOutcome: (ended, outcome) => {
          endpoint.requests.delete(ended);
          resolve(this.#attemptOf(outcome, ended.atMs, endpoint));
        },
      });
      endpoint.requests.add(begun);
      begun.start();
    });
  }

  /** One for all requests. */
  readonly #onResent = (): void => {
    this.counters.resent += 1;
  };

  #attemptOf(outcome: Outcome, atMs: number, { hide }: Endpoint): Attempt | null {
    if (outcome === null) return this.#cut();
    if (outcome.type === 'failed') return this.#failed(atMs, outcome.ms, outcome.failure);
    const { statusCode, retryAfter, answer, ms } = outcome;
    this.counters.answers[answerClass(statusCode)] += 1;
    return {
      type: 'answered',
      atMs,
      durationMs: Math.round(ms),
      statusCode,
      retryAfterMs: retryAfterMs(retryAfter, this.#options.nowMs()),
      answer: hide(answer),
    };
  }

  #failed(atMs: number, ms: number, { kind, sentence }: Failure): Extract<Attempt, { type: 'failed' }> {
    this.counters.failures[kind] += 1;
    return { type: 'failed', atMs, durationMs: Math.round(ms), error: sentence };
  }

  #cut(): null {
    this.counters.cut += 1;
    return null;
  }
}
