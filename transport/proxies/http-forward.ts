/** Absolute-form requests: one stream to the target for each, within the limits of time. */
import { reset } from '../net/streams/reset.ts';
import { createDeadlines, type Deadlines } from './deadlines.ts';
import { ForwardedRequest, type Passed, type Passing } from './forwarded-request.ts';
import { dialAnswer } from './http-answers.ts';
import { answer, type Exchange } from './http-exchange.ts';
import type { Forwarded } from './http-requests.ts';
import type { Serving } from './serving.ts';
import type { Dial } from './tunnels.ts';

/** What forwarding works with. */
export interface ForwarderOptions extends Pick<Serving, 'limits'>, Omit<Passing, 'passed'> {
  readonly dial: Dial;
}

/** Sends admitted requests on. */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #passed: Passed = { up: 0, down: 0 };
  readonly #passing: Passing;
  readonly #lives: Deadlines<Exchange>;

  constructor(options: ForwarderOptions) {
    const { limits, log, clients, pseudonym } = options;
    this.#options = options;
    this.#passing = { log, clients, pseudonym, passed: this.#passed };
    this.#lives = createDeadlines<Exchange>(limits.lifeMsMax, ({ request }) => reset(request.socket));
  }

  /** Bodies so far. */
  get passed(): Readonly<Passed> {
    return this.#passed;
  }

  /** Dials the target, then passes request and answer on; or answers why not. */
  send(exchange: Exchange, username: string, forwarded: Forwarded): void {
    const { limits, dial, clients } = this.#options;
    const { request, response } = exchange;
    this.#lives.add(exchange);
    response.once('close', () => this.#lives.delete(exchange));
    response.setTimeout(limits.idleMsMax, () => reset(request.socket));
    const giveUp = dial({ username, ...forwarded.target }, (dialled) => {
      response.off('close', giveUp);
      if (!dialled.ok) return answer(exchange, dialAnswer(dialled.failure, dialled.message), clients);
      return new ForwardedRequest(exchange, forwarded, dialled.stream, this.#passing).send();
    });
    response.once('close', giveUp);
  }
}
