/** What happened at the console since the start of this admin. */

/**
 * How a sign-in can end. `insecure`: over plain HTTP, where that is not allowed; `forbidden`: a key that does not reach
 * the API; `throttled`: too many wrong keys came from that address; `unneeded`: no key is asked for; `invalid`: what
 * came is no key; `unavailable`: the database is away.
 */
export type SignInResult =
  | 'signed_in'
  | 'wrong_key'
  | 'throttled'
  | 'forbidden'
  | 'insecure'
  | 'unneeded'
  | 'invalid'
  | 'unavailable';

/** Counts, as metrics read them. */
export interface ConsoleReadings {
  /** Open connections of pages, terminals with them. */
  readonly connections: number;
  readonly signIns: Readonly<Record<SignInResult, number>>;
}

/** Counted by its routes and connections. */
export class ConsoleCounters {
  readonly #signIns: Record<SignInResult, number> = {
    signed_in: 0,
    wrong_key: 0,
    throttled: 0,
    forbidden: 0,
    insecure: 0,
    unneeded: 0,
    invalid: 0,
    unavailable: 0,
  };
  #connections = 0;

  signIn(result: SignInResult): void {
    this.#signIns[result] += 1;
  }

  /** It is open until it says that it is closed. */
  connection(opened: { once(event: 'close', listener: () => void): unknown }): void {
    this.#connections += 1;
    opened.once('close', () => {
      this.#connections -= 1;
    });
  }

  readings(): ConsoleReadings {
    return { connections: this.#connections, signIns: { ...this.#signIns } };
  }
}
