/**
 * One HTTP exchange with the updater of this machine, which need not be ours: everything of an answer is bounded, and
 * nothing of it is trusted.
 */
import type { IncomingMessage } from 'node:http';
import { refuseUpgrade, UnaskedUpgrade } from '../../transport/net/streams/unasked-upgrade.ts';
import { networkProblem } from '../problem.ts';

/** Where it listens, and what it is shown. */
export interface UpdaterPlace {
  readonly url: string;
  readonly token: string;
}

/** A connection stands, and the question is sent, within this time, in ms. */
export const CONNECT_MS_MAX = 10_000;

/** Read of an answer, in bytes: the reason of an update that was taken back fits, escaped as JSON. */
export const ANSWER_BYTES_MAX = 65_536;

/** An answer whose status is known is read for so long, in ms: by then its words are there, or they do not matter. */
const BODY_MS_MAX = 2_000;

/** What came back. */
export interface UpdaterAnswer {
  readonly status: number;
  /** The header as it came. */
  readonly retryAfter: string | null;
  /** As much as was taken. */
  readonly text: string;
}

/** No answer, and why, as the end of a sentence. */
export class UpdaterSilence extends Error {}

/** What is asked. */
export interface UpdaterQuestion {
  readonly method: 'GET' | 'POST';
  /** Below the URL of the updater. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The status is there within this time, in ms. */
  readonly msMax: number;
  /** Aborted: nobody waits any more. */
  readonly signal: AbortSignal;
}

/** Asks it. Follows no redirect. Rejects with an `UpdaterSilence`. */
export async function askUpdater({ url, token }: UpdaterPlace, question: UpdaterQuestion): Promise<UpdaterAnswer> {
  const address = `${url.replace(/\/+$/u, '')}${question.path}`;
  const answer = await statusOf(address, token, question);
  return {
    status: answer.statusCode ?? 0,
    retryAfter: answer.headers['retry-after'] ?? null,
    text: await textOf(answer),
  };
}

/** Not by fetch, which costs 8 MiB of memory: see agent/outbound/http-exchange.ts. */
function statusOf(
  address: string,
  token: string,
  { method, headers, msMax, signal }: UpdaterQuestion,
): Promise<IncomingMessage> {
  const { request: send } = process.getBuiltinModule(address.startsWith('https:') ? 'node:https' : 'node:http');
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = send(
    address,
    {
      method,
      headers: {
        ...headers,
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...(method === 'POST' && { 'content-length': 0 }),
      },
      agent: false,
      signal,
    },
    resolve,
  );
  const silent = (why: string, cause?: unknown) => {
    reject(new UpdaterSilence(why, { cause }));
    request.destroy();
  };
  const inSeconds = (ms: number) => `did not answer within ${(ms / 1_000).toFixed(ms % 1_000 === 0 ? 0 : 1)} s`;
  const connectMs = Math.min(CONNECT_MS_MAX, msMax);
  const connecting = setTimeout(() => silent(inSeconds(connectMs)), connectMs);
  const whole = setTimeout(() => silent(inSeconds(msMax)), msMax);
  const sent = () => clearTimeout(connecting);
  request.once('finish', () => {
    const { socket } = request;
    if (socket?.connecting === true) socket.once(address.startsWith('https:') ? 'secureConnect' : 'connect', sent);
    else sent();
  });
  refuseUpgrade(request).on('error', (error: NodeJS.ErrnoException) => silent(failureOf(error), error));
  request.end();
  return promise.finally(() => {
    clearTimeout(connecting);
    clearTimeout(whole);
  });
}

/** What went wrong below HTTP. The system's words are for its log; these are for people. */
function failureOf(error: NodeJS.ErrnoException): string {
  const { code = '' } = error;
  if (error instanceof UnaskedUpgrade) return 'answers with another protocol than HTTP';
  if (code.startsWith('HPE_')) return 'answers with something that is no HTTP';
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'hung up without an answer';
  return networkProblem(error);
}

/** Never rejects: what was said until it broke off is enough. */
async function textOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, BODY_MS_MAX);
  answer
    .on('data', (piece: Buffer) => {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= ANSWER_BYTES_MAX) resolve();
    })
    .on('end', resolve)
    .on('error', () => resolve())
    .on('close', resolve);
  await promise;
  clearTimeout(timer);
  answer.destroy();
  return Buffer.concat(pieces).subarray(0, ANSWER_BYTES_MAX).toString('utf8');
}
