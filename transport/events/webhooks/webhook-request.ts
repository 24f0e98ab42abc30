/** One request to a webhook, from the wait for a connection to the beginning of the answer's body. */
import type { Dispatcher } from 'undici';
import { ANSWER_BYTES_MAX } from '../../../actors/webhook/delivery.ts';
import { answerText } from './answer.ts';
import { failureOf, isClosed, lateFailure, type Failure } from './failures.ts';
import type { ReceiverConnection, ReceiverConnections, ConnectionUser } from './receiver-connections.ts';
import { ANSWER_BODY_MS_MAX, DRAINED_BYTES_MAX, STALE_MS_MAX } from './limits.ts';

/**
 * What came of a request. `ms` is the time to the answer's headers, or to the failure. Null: it was cut, or may not be
 * sent any more.
 */
export type Outcome =
  | {
      readonly type: 'answered';
      readonly ms: number;
      readonly statusCode: number;
      readonly retryAfter: string | readonly string[] | undefined;
      readonly answer: string;
    }
  | { readonly type: 'failed'; readonly ms: number; readonly failure: Failure }
  | null;

/** What a request needs besides itself. */
export interface WebhookRequestOptions {
  readonly connections: ReceiverConnections;
  /** Made when it is its turn, so that it is signed with the time at which it goes out. */
  readonly request: (atMs: number) => Dispatcher.DispatchOptions;
  /** Time for all of it, from its turn on: look-up, connection, TLS, sending, status and headers. */
  readonly timeoutMs: number;
  /** Asked once more when the first byte is about to be sent. */
  readonly mayDeliver: () => boolean;
  readonly monotonicMs: () => number;
  readonly nowMs: () => number;
  /** A request that found its connection closing is sent again on a new one; told each time. */
  readonly onResent: () => void;
  /** Called once. */
  readonly onOutcome: (request: WebhookRequest, outcome: Outcome) => void;
}

/** A class, because there is one for each request: methods are shared. */
export class WebhookRequest implements ConnectionUser, Dispatcher.DispatchHandler {
  readonly #options: WebhookRequestOptions;
  #startedMs = 0;
  #request: Dispatcher.DispatchOptions | null = null;
  /** When it began, in Unix ms; before that, when it was made. */
  atMs: number;
  readonly #chunks: Buffer[] = [];
  #timer: NodeJS.Timeout | undefined;
  #connection: ReceiverConnection | null = null;
  #isSettled = false;
  /** When the request went out on its connection; null before. */
  #sentMs: number | null = null;
  #hasBytes = false;
  #statusCode = 0;
  #retryAfter: string | readonly string[] | undefined;
  #answeredMs = 0;
  #bytes = 0;
  /** Beyond so many bytes of the body the connection is given up. */
  #bytesMax = DRAINED_BYTES_MAX;

  constructor(options: WebhookRequestOptions) {
    this.#options = options;
    this.atMs = options.nowMs();
  }

  /**
   * Takes a connection, or stands in line, where its time does not run yet: whoever is before it has a limit. Called
   * once.
   */
  start(): void {
    this.#options.connections.take(this);
  }

  /** Ends it, whatever it is at. */
  cut(): void {
    if (!this.#isSettled) this.#settle(null, false);
  }

  useConnection(connection: ReceiverConnection): void {
    this.#connection = connection;
    this.#sentMs = null;
    connection.client.dispatch((this.#request ??= this.#begun()), this);
  }

  #begun(): Dispatcher.DispatchOptions {
    const { nowMs, monotonicMs, timeoutMs, request } = this.#options;
    this.atMs = nowMs();
    this.#startedMs = monotonicMs();
    this.#timer = setTimeout(late, timeoutMs, this);
    return request(this.atMs);
  }

  /** The time is over: what came till now counts. */
  expire(): void {
    if (this.#isSettled) return;
    if (this.#statusCode === 0) this.#fail(lateFailure(this.#sentMs !== null, this.#options.timeoutMs));
    else this.#answered(false);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Dialling may have taken longer than the right to deliver lasts.
    if (this.#isSettled || !this.#options.mayDeliver()) {
      this.cut();
      controller.abort(new Error('not sent'));
    } else {
      this.#sentMs = this.#options.monotonicMs();
    }
  }

  onResponseStarted(): void {
    this.#hasBytes = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (statusCode < 200 || this.#isSettled) return; // 102 and 103 come before the answer
    this.#statusCode = statusCode;
    this.#retryAfter = headers['retry-after'];
    this.#answeredMs = this.#options.monotonicMs() - this.#startedMs;
    const leftMs = this.#options.timeoutMs - this.#answeredMs;
    if (leftMs > ANSWER_BODY_MS_MAX) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(late, ANSWER_BODY_MS_MAX, this);
    }
    if (Number(headers['content-length'] ?? 0) > DRAINED_BYTES_MAX) this.#bytesMax = ANSWER_BYTES_MAX;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    if (this.#bytes <= ANSWER_BYTES_MAX) this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#bytesMax) this.#answered(false);
  }

  onResponseEnd(): void {
    if (!this.#isSettled) this.#answered(true);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#isSettled) return;
    if (this.#statusCode !== 0) return this.#answered(false);
    const failure = failureOf(error);
    if (this.#connection === null || !this.#isStale(failure, this.#connection)) return this.#fail(failure);
    this.#options.onResent();
    this.#options.connections.replace(this.#connection, this);
  }

  /**
   * The server closed a kept connection at the moment of the request, which goes out once more, on a new one, within
   * the same time. The receiver may then see it twice, with one id; else each restart of a receiver would cost tries.
   * Go's HTTP client does the same for requests with an Idempotency-Key.
   */
  #isStale(failure: Failure, connection: ReceiverConnection): boolean {
    return (
      isClosed(failure) &&
      !this.#hasBytes &&
      connection.carried > 0 &&
      this.#sentMs !== null &&
      this.#options.monotonicMs() - this.#sentMs <= STALE_MS_MAX
    );
  }

  #answered(isWhole: boolean): void {
    this.#settle(
      {
        type: 'answered',
        ms: this.#answeredMs,
        statusCode: this.#statusCode,
        retryAfter: this.#retryAfter,
        answer: answerText(this.#chunks),
      },
      isWhole,
    );
  }

  #fail(failure: Failure): void {
    this.#settle({ type: 'failed', ms: this.#options.monotonicMs() - this.#startedMs, failure }, false);
  }

  #settle(outcome: Outcome, isConnectionGood: boolean): void {
    this.#isSettled = true;
    clearTimeout(this.#timer);
    const { connections, onOutcome } = this.#options;
    if (this.#connection === null) connections.leave(this);
    else if (isConnectionGood) connections.release(this.#connection);
    else connections.drop(this.#connection);
    onOutcome(this, outcome);
  }
}

/**
 * Timers come before sockets in a turn of the event loop: where this process was held up, what came in meanwhile is
 * read first.
 */
function late(request: WebhookRequest): void {
  setImmediate(expire, request);
}

function expire(request: WebhookRequest): void {
  request.expire();
}
