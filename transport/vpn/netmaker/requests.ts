/**
 * Requests to Netmaker's REST API: bounded in time, bytes, tries and number, and without its key in anything that is
 * told.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { VpnRefused, VpnUnavailable } from '../../../actors/vpn/vpn.ts';
import { reasonIn, unwrapped } from './answers.ts';
import {
  ANSWER_BYTES_MAX,
  CALL_MS_MAX,
  REASON_CHARACTERS_MAX,
  REQUEST_MS_MAX,
  REQUEST_TRIES_MAX,
  REQUESTS_MAX,
  REQUESTS_WAITING_MAX,
  RETRY_MS,
} from './limits.ts';

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
}

/** Requests to one Netmaker. */
export interface NetmakerRequests {
  /**
   * What was answered, unwrapped: JSON where it is JSON. Rejects with VpnUnavailable when nobody answered, or only that
   * it is too busy; with
   * NetmakerRefused for every other status from 300 on, also for what is missing.
   */
  ask(request: NetmakerRequest): Promise<unknown>;
  close(): Promise<void>;
}

/** Opens nothing before the first request. */
export function createNetmakerRequests(
  { url, masterKey }: NetmakerSettings,
  random: () => number = Math.random,
): NetmakerRequests {
  const base = new URL(url);
  const prefix = base.pathname.replace(/\/$/u, '');
  const pool = new Pool(base.origin, {
    connections: REQUESTS_MAX,
    connect: { timeout: REQUEST_MS_MAX },
    headersTimeout: REQUEST_MS_MAX,
    bodyTimeout: REQUEST_MS_MAX,
    maxResponseSize: ANSWER_BYTES_MAX,
  });
  const ending = new AbortController();
  let open = 0;

  async function ask(request: NetmakerRequest): Promise<unknown> {
    if (open >= REQUESTS_MAX + REQUESTS_WAITING_MAX)
      throw new VpnUnavailable(`Too many requests to Netmaker wait already: ${request.what} has to wait.`);
    open += 1;
    try {
      return await tried(
        request,
        AbortSignal.any([
          ending.signal,
          AbortSignal.timeout(CALL_MS_MAX),
          ...(request.signal === undefined ? [] : [request.signal]),
        ]),
      );
    } finally {
      open -= 1;
    }
  }

  async function tried(request: NetmakerRequest, signal: AbortSignal): Promise<unknown> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await once(request, signal);
      } catch (error) {
        if (!(error instanceof VpnUnavailable) || tries >= REQUEST_TRIES_MAX || signal.aborted) throw error;
        const waited = await delay(RETRY_MS * 2 ** (tries - 1) * (0.5 + random() / 2), true, { signal }).catch(
          () => false,
        );
        if (!waited) throw error;
      }
    }
  }

  async function once(
    { method, path, body, what, isAuthorized = true }: NetmakerRequest,
    signal: AbortSignal,
  ): Promise<unknown> {
    const answered = await pool
      .request({
        method,
        path: `${prefix}${path}`,
        signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS_MAX)]),
        headers: {
          accept: 'application/json',
          ...(isAuthorized ? { authorization: `Bearer ${masterKey}` } : {}),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      .then(async ({ statusCode, body: answer }) => ({ statusCode, text: await answer.text() }))
      .catch((error: unknown) => {
        throw new VpnUnavailable(`Netmaker did not answer to ${what} (${causeOf(error)}).`);
      });
    const { statusCode, text } = answered;
    if (AWAY.has(statusCode)) throw new VpnUnavailable(`Netmaker is too busy for ${what} (${statusCode}).`);
    if (statusCode === 401)
      throw new NetmakerRefused(`Netmaker does not take EDGE_VPN_MASTER_KEY for ${what} (${statusCode}).`, false);
    if (statusCode >= 300)
      throw new NetmakerRefused(
        `Netmaker refused ${what} (${statusCode}${reasonOf(text)}).`,
        MISSING.has(statusCode) && NOTHING_THERE.test(reasonIn(text)),
      );
    return parsed(text);
  }

  function reasonOf(body: string): string {
    const reason = tellable(reasonIn(body), masterKey);
    return reason === '' ? '' : `: ${reason}`;
  }

  return {
    ask,
    async close() {
      ending.abort();
      await pool.destroy();
    },
  };
}

/** Text of a stranger, fit for a log: one short line without secrets and addresses. */
export function tellable(text: string, ...secrets: readonly string[]): string {
  const hidden = secrets.reduce((shown, secret) => shown.replaceAll(secret, '…'), text);
  return hidden
    .replaceAll(ADDRESSES, '…')
    .replaceAll(/[^\x20-\x7e…]+/gu, ' ')
    .trim()
    .slice(0, REASON_CHARACTERS_MAX);
}

/** Some answers are one word, and some are nothing. */
function parsed(text: string): unknown {
  try {
    return text === '' ? null : unwrapped(JSON.parse(text));
  } catch {
    return text;
  }
}

/** By its code alone: messages name addresses. */
function causeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (name === 'TimeoutError') return 'it took too long';
  if (name === 'AbortError') return 'it was given up';
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return 'the answer is too large';
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'unknown';
}
