/** One server that has releases: bounded reads by `node:http`, which gives up what is slow, silent or too much. */
import type { Agent, IncomingMessage } from 'node:http';
import { refuseUpgrade } from '../../transport/net/streams/unasked-upgrade.ts';
import { networkProblem } from '../problem.ts';
import { UpdateProblem } from './problem.ts';

/** A server has to begin its answer by then, in ms. */
export const ANSWER_MS_MAX = 15_000;

/** Slower than this over SLOW_WINDOW_MS is given up: in bytes a second. */
export const BYTES_PER_SECOND_MIN = 1_024;
export const SLOW_WINDOW_MS = 60_000;

/** Metadata comes whole within this, in ms. */
export const METADATA_MS_MAX = 60_000;

/** How requests leave this machine, and how long they may take. */
export interface MirrorOptions {
  readonly agentFor: (url: string) => Agent | false;
  readonly answerMsMax?: number;
  readonly slowWindowMs?: number;
}

/** It answered, and not with what was asked for. */
export class StatusProblem extends UpdateProblem {
  readonly status: number;
  /** What it asks to wait before the next try, in s; null: nothing. */
  readonly retryAfterSeconds: number | null;

  constructor(url: string, status: number, retryAfterSeconds: number | null) {
    super(`${url} answered ${status}`);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** A whole answer, of at most so many bytes. Rejects with an UpdateProblem that names the URL. */
export async function readBytes(
  url: string,
  bytesMax: number,
  { signal: stopped, ...options }: MirrorOptions & { readonly signal?: AbortSignal },
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const deadline = AbortSignal.timeout(METADATA_MS_MAX);
  const signal = stopped === undefined ? deadline : AbortSignal.any([deadline, stopped]);
  await stream(url, { ...options, bytesMax, from: 0, signal }, (piece) => {
    pieces.push(piece);
  });
  return Buffer.concat(pieces);
}

/** What `stream` is given besides. */
export interface StreamOptions extends MirrorOptions {
  /** Most bytes that are taken from the body. */
  readonly bytesMax: number;
  /** First byte that is wanted. */
  readonly from: number;
  readonly signal: AbortSignal;
  /** Called before the first piece: the place from which the server sends, 0 where it does not know Range. */
  readonly began?: (from: number) => void;
}

/** Hands on the body piece by piece, as fast as `take` takes it. Rejects with an UpdateProblem that names the URL. */
export async function stream(
  url: string,
  options: StreamOptions,
  take: (piece: Buffer) => Promise<void> | void,
): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, options.signal]);
  const slow = new SlowWatch(options.slowWindowMs ?? SLOW_WINDOW_MS, () => {
    stop.abort(new UpdateProblem(`${url} sends less than ${BYTES_PER_SECOND_MIN} bytes a second`));
  });
  try {
    const answer = await answered(url, options, signal);
    options.began?.(answer.statusCode === 206 ? options.from : 0);
    let bytes = 0;
    slow.start();
    for await (const piece of answer as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > options.bytesMax)
        throw new UpdateProblem(`${url} sends more than the ${options.bytesMax} bytes it should`);
      slow.count(piece.length);
      await take(piece);
    }
  } catch (error) {
    throw problemOf(url, error, signal);
  } finally {
    slow.stop();
    stop.abort();
  }
}

async function answered(url: string, options: StreamOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const ms = options.answerMsMax ?? ANSWER_MS_MAX;
  // Not by `import`: see agent/outbound/http-exchange.ts.
  const { request } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { 'user-agent': 'edge-updater', ...(options.from > 0 && { range: `bytes=${options.from}-` }) };
  const asked = refuseUpgrade(request(url, { agent: options.agentFor(url), signal, headers }, resolve));
  asked.on('error', reject);
  const timer = setTimeout(() => asked.destroy(new UpdateProblem(`${url} did not answer within ${ms / 1_000} s`)), ms);
  asked.end();
  try {
    const answer = await promise;
    const { statusCode: status = 0 } = answer;
    if (status === 200 || (status === 206 && isFrom(answer, options.from))) return answer;
    answer.destroy();
    const seconds = Number(answer.headers['retry-after'] ?? Number.NaN);
    throw new StatusProblem(url, status, Number.isInteger(seconds) && seconds >= 0 ? seconds : null);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a part is the one that was asked for. */
function isFrom(answer: IncomingMessage, from: number): boolean {
  return from > 0 && (answer.headers['content-range'] ?? '').startsWith(`bytes ${from}-`);
}

function problemOf(url: string, error: unknown, signal: AbortSignal): Error {
  if (error instanceof UpdateProblem) return error;
  if (signal.aborted && signal.reason instanceof UpdateProblem) return signal.reason;
  if (signal.aborted) return new UpdateProblem(`${url} took too long`, { cause: error });
  if ((error as NodeJS.ErrnoException).syscall === 'write' || (error as NodeJS.ErrnoException).code === 'ENOSPC')
    return error as Error; // of this machine's disk
  return new UpdateProblem(`${url}: ${networkProblem(error)}`, { cause: error });
}

/** Calls once when too little came within the window. */
class SlowWatch {
  readonly #windowMs: number;
  readonly #slow: () => void;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(windowMs: number, slow: () => void) {
    this.#windowMs = windowMs;
    this.#slow = slow;
  }

  start(): void {
    this.#timer = setInterval(() => {
      if (this.#bytes < (BYTES_PER_SECOND_MIN * this.#windowMs) / 1_000) this.#slow();
      this.#bytes = 0;
    }, this.#windowMs);
  }

  count(bytes: number): void {
    this.#bytes += bytes;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
