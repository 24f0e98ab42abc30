/**
 * Requests to Netmaker's REST API: bounded in time, bytes, tries and number, and without its key in anything that is
 * told.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { VpnRefused, VpnUnavailable, type Keep } from '../../../actors/vpn/vpn.ts';
import { reasonIn, unwrapped } from './answers.ts';
import { isBounded, parsed } from './json.ts';

/** One request with its answer, in ms; there may be REQUEST_TRIES_MAX of them in a call. */
const REQUEST_MS_MAX = 10_000;

/**
 * One call with all its tries and waits, in ms. Longer than the lease of whoever reconciles: a change is asked for anew
 * before each try.
 */
const CALL_MS_MAX = 20_000;

/** Tries of a request that found Netmaker away or too busy. */
export const REQUEST_TRIES_MAX = 3;

/** First wait between two of them, in ms; each further one is twice as long, and half to all of it is waited. */
const RETRY_MS = 300;

/** Requests under way at once. Its controllers lock whole tables. */
export const REQUESTS_MAX = 4;

/** Requests that wait for their turn; more are refused. */
export const REQUESTS_WAITING_MAX = 256;

/** Largest answer, in bytes: all nodes of all networks, of 1 to 2 KiB each. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** Largest refusal whose words are looked at, in bytes. Netmaker's are sentences. */
export const REFUSAL_BYTES_MAX = 65_536;

/** How much of what Netmaker says about a failure is looked at, in characters. */
export const REASON_READ_CHARACTERS_MAX = 4_096;

/** How much of it is told, in characters. */
const REASON_CHARACTERS_MAX = 160;

/** What undici calls an answer of more bytes than these. */
const TOO_LARGE = 'UND_ERR_RES_EXCEEDED_MAX_SIZE';

/**
 * Statuses of a server that is away, restarting or too busy. 500 is not among them: it also means that something is
 * missing.
 */
const AWAY = new Set([408, 425, 429, 502, 503, 504]);

/** Addresses of either family, as they may stand in what Netmaker says (R3). */
const ADDRESSES = /\b\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2})?|(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}(?:\/\d{1,3})?/giu;

/**
 * Statuses under which Netmaker says that something is not there, and how it says so. Source: its controllers; they
 * differ between versions.
 */
const MISSING = new Set([400, 404, 500]);
const NOTHING_THERE = /could not find any record|no result found|no rows|not found|no such/iu;

/** Netmaker answered, and did not do it. */
export class NetmakerRefused extends VpnRefused {
  /** What was asked for is not there, in its own words. A refusal that is not so may be one all the same. */
  readonly isMissing: boolean;

  constructor(message: string, isMissing: boolean) {
    super(message);
    this.isMissing = isMissing;
  }
}

/** Where Netmaker is, and its key. */
export interface NetmakerSettings {
  /** Base of its API, such as https://api.netmaker.example.com; a path in it is kept. */
  readonly url: string;
  readonly masterKey: string;
}

/**
 * What is asked. `path` begins with /api and is encoded already. `what` completes "Netmaker …": "did not answer to
 * listing networks".
 */
export interface NetmakerRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly what: string;
  /** With the key, unless false. */
  readonly isAuthorized?: boolean;
  readonly signal?: AbortSignal;
  /** Asked before each try. */
  readonly keep?: Keep;
}

/** What was answered, not looked at yet. */
interface RawAnswer {
  readonly status: number;
  readonly bytes: Uint8Array;
}

/** Would be as large the next time. */
class AnswerTooLarge extends VpnUnavailable {}

/** Requests to one Netmaker. Opens nothing before the first. */
export class NetmakerRequests {
  readonly #pool: Pool;
  readonly #prefix: string;
  readonly #masterKey: string;
  readonly #random: () => number;
  readonly #ending = new AbortController();
  #open = 0;

  constructor({ url, masterKey }: NetmakerSettings, random: () => number = Math.random) {
    const base = new URL(url);
    this.#prefix = base.pathname.replace(/\/$/u, '');
    this.#masterKey = masterKey;
    this.#random = random;
    this.#pool = new Pool(base.origin, {
      connections: REQUESTS_MAX,
      connect: { timeout: REQUEST_MS_MAX },
      headersTimeout: REQUEST_MS_MAX,
      bodyTimeout: REQUEST_MS_MAX,
      maxResponseSize: ANSWER_BYTES_MAX,
    });
  }

  /**
   * What was answered, unwrapped: JSON where it is JSON. Rejects with VpnUnavailable when nobody answered, or only that
   * it is too busy, or with more than is read; with NetmakerRefused for every other status from 300 on, also for what
   * is missing; and with what `keep` throws.
   */
  async ask(request: NetmakerRequest): Promise<unknown> {
    if (this.#open >= REQUESTS_MAX + REQUESTS_WAITING_MAX)
      throw new VpnUnavailable(`Too many requests to Netmaker wait already: ${request.what} has to wait.`);
    this.#open += 1;
    try {
      const given = request.signal === undefined ? [] : [request.signal];
      const signals = [this.#ending.signal, AbortSignal.timeout(CALL_MS_MAX), ...given];
      return this.#read(request.what, await this.#tried(request, AbortSignal.any(signals)));
    } finally {
      this.#open -= 1;
    }
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#pool.destroy();
  }

  async #tried(request: NetmakerRequest, signal: AbortSignal): Promise<RawAnswer> {
    for (let tries = 1; ; tries += 1) {
      try {
        request.keep?.();
        const answer = await this.#once(request, signal);
        if (!AWAY.has(answer.status)) return answer;
        throw new VpnUnavailable(`Netmaker is too busy for ${request.what} (${answer.status}).`);
      } catch (error) {
        const isOver = error instanceof AnswerTooLarge || tries >= REQUEST_TRIES_MAX || signal.aborted;
        if (!(error instanceof VpnUnavailable) || isOver) throw error;
        const ms = RETRY_MS * 2 ** (tries - 1) * (0.5 + this.#random() / 2);
        const isWaited = await delay(ms, true, { signal }).catch(() => false);
        if (!isWaited) throw error;
      }
    }
  }

  async #once(
    { method, path, body, what, isAuthorized = true }: NetmakerRequest,
    signal: AbortSignal,
  ): Promise<RawAnswer> {
    try {
      const { statusCode: status, body: answer } = await this.#pool.request({
        method,
        path: `${this.#prefix}${path}`,
        signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS_MAX)]),
        headers: {
          accept: 'application/json',
          ...(isAuthorized ? { authorization: `Bearer ${this.#masterKey}` } : {}),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status, bytes: await answer.bytes() };
    } catch (error) {
      const Failure = codeOf(error) === TOO_LARGE ? AnswerTooLarge : VpnUnavailable;
      throw new Failure(`Netmaker did not answer to ${what} (${causeOf(error)}).`);
    }
  }

  #read(what: string, { status, bytes }: RawAnswer): unknown {
    if (status === 401)
      throw new NetmakerRefused(`Netmaker does not take EDGE_VPN_MASTER_KEY for ${what} (${status}).`, false);
    if (status < 300) {
      if (isBounded(bytes)) return unwrapped(parsed(bytes));
      throw new VpnUnavailable(`Netmaker answered to ${what} with more than is read.`);
    }
    const reason = bytes.length <= REFUSAL_BYTES_MAX ? reasonIn(parsed(bytes)) : '';
    const told = tellable(reason, this.#masterKey);
    throw new NetmakerRefused(
      `Netmaker refused ${what} (${status}${told === '' ? '' : `: ${told}`}).`,
      MISSING.has(status) && NOTHING_THERE.test(beginningOf(reason)),
    );
  }
}

/** Text of a stranger, fit for a log: one short line without secrets and addresses. */
export function tellable(text: string, ...secrets: readonly string[]): string {
  const hidden = secrets.reduce((shown, secret) => shown.replaceAll(secret, '…'), text);
  return beginningOf(hidden)
    .replaceAll(ADDRESSES, '…')
    .replaceAll(/[^\x20-\x7e…]+/gu, ' ')
    .trim()
    .slice(0, REASON_CHARACTERS_MAX);
}

/** As much as is looked at, without the word that would be cut: half an address is none that is found. */
function beginningOf(text: string): string {
  if (text.length <= REASON_READ_CHARACTERS_MAX) return text;
  return text.slice(0, Math.max(0, text.lastIndexOf(' ', REASON_READ_CHARACTERS_MAX)));
}

/** By its code alone: messages name addresses. */
function causeOf(error: unknown): string {
  const { name } = error as { name?: unknown };
  const code = codeOf(error);
  if (name === 'TimeoutError') return 'it took too long';
  if (name === 'AbortError') return 'it was given up';
  if (code === TOO_LARGE) return 'the answer is too large';
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'unknown';
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
