/**
 * The socket that each interface of wireguard-go has: one question a connection, answered in lines. Source:
 * wireguard.com/xplatform, "configuration protocol".
 */
import { connect } from 'node:net';
import type { AnswerLimits } from './limits.ts';

/**
 * How a question ended. `refused`: it was heard, and what it asks is not taken. `isSilent`: no answer came, or
 * none that ended, in the time that it has. `gone`: nobody listens there (any more).
 */
export type UapiOutcome =
  | { readonly kind: 'answered' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string; readonly isSilent?: true }
  | { readonly kind: 'gone' };

/** Takes one line of an answer; what it returns is why the answer is wrong, null: go on. */
export type TakeLine = (name: string, value: string) => string | null;

/** What a socket says that nobody listens on any more: a program that was killed leaves it behind. */
const GONE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT']);

/** What refusals mean, by their numbers. Sources: errno(3) of Linux; -55 stands for anything else in wireguard-go. */
const REFUSALS: Readonly<Record<string, string>> = {
  '-1': 'it may not do that',
  '-2': 'there is no such thing',
  '-5': 'its network failed',
  '-22': 'it was told something that it does not take',
  '-55': 'it failed',
  '-71': 'it was told something that it does not understand',
  '-97': 'the address is of a kind that it cannot use',
  '-98': 'its UDP port is in use',
};

/**
 * Says `request` (which ends with an empty line) and hands each line of the answer to `take` as it comes; nothing is
 * kept here.
 * Never rejects: an answer that is refused, too long, too late, cut or none is `failed`, with the reason in a few words
 * and nothing of the answer.
 */
export function ask(socketPath: string, request: string, take: TakeLine, limits: AnswerLimits): Promise<UapiOutcome> {
  return new Promise((resolve) => {
    const lines = new AnswerLines(take, limits);
    const socket = connect(socketPath);
    const timer = setTimeout(
      () => settle({ kind: 'failed', isSilent: true, reason: `it did not answer within ${limits.answerMsMax} ms` }),
      limits.answerMsMax,
    );
    const settle = (outcome: UapiOutcome): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(outcome);
    };
    socket.setEncoding('latin1');
    socket.on('connect', () => socket.write(request));
    socket.on('data', (text: string) => {
      const outcome = lines.take(text);
      if (outcome !== null) settle(outcome);
    });
    socket.on('error', (error: NodeJS.ErrnoException) =>
      settle(GONE.has(error.code ?? '') ? { kind: 'gone' } : failed(error.code ?? 'its socket failed')),
    );
    socket.on('end', () => settle(failed('its answer ended too early')));
  });
}

/** Cuts an answer into lines as it comes, and forgets what was read. */
class AnswerLines {
  readonly #take: TakeLine;
  readonly #limits: AnswerLimits;
  #bytes = 0;
  #rest = '';

  constructor(take: TakeLine, limits: AnswerLimits) {
    this.#take = take;
    this.#limits = limits;
  }

  /** The outcome once the answer is whole or wrong, else null. */
  take(text: string): UapiOutcome | null {
    this.#bytes += text.length;
    if (this.#bytes > this.#limits.answerBytesMax) return failed('its answer is too long');
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const outcome =
        line.length > this.#limits.lineBytesMax ? failed('its answer has a line that is too long') : this.#line(line);
      if (outcome !== null) return outcome;
    }
    return this.#rest.length > this.#limits.lineBytesMax ? failed('its answer has a line that is too long') : null;
  }

  #line(line: string): UapiOutcome | null {
    const at = line.indexOf('=');
    const [name, value] = [line.slice(0, at), line.slice(at + 1)];
    if (at < 1) return failed('its answer is no such answer');
    if (name === 'errno')
      return value === '0' ? { kind: 'answered' } : { kind: 'refused', reason: REFUSALS[value] ?? 'it refused' };
    const problem = this.#take(name, value);
    return problem === null ? null : failed(problem);
  }
}

function failed(reason: string): UapiOutcome {
  return { kind: 'failed', reason };
}
