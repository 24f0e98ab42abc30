/**
 * Calls over Node's HTTP in the form of `fetch`. Loading the latter takes longer than everything else that a short
 * command does: 46 of 140 ms, measured.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { refuseUpgrade, UnaskedUpgrade } from '../../transport/net/streams/unasked-upgrade.ts';
import { ANSWER_LOST, ANSWER_MS_MAX, NO_ANSWER } from '../problem.ts';

/** How long a connection may take to come about, in ms. Source: the default of `fetch` in Node. */
const CONNECT_MS_MAX = 10_000;

// tRPC asks of every input whether it is a form, and the name of forms alone loads all of fetch. No input here is one.
// Assigned: to define it anew would load it too.
Object.assign(globalThis, { FormData: function NoForm() {} });

/** Codes of a connection that was cut, by whoever stands on its path. Source: Node, Common system errors. */
const CUTS: readonly unknown[] = [
  'ECONNABORTED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'EPIPE',
  'ETIMEDOUT',
];

/** What a gateway says of a service that did not answer it; the service itself never does. Source: RFC 9110, 15.6. */
const GATEWAY_FAILURES: readonly number[] = [502, 504];

/** What is read of an answer. */
export interface Answer {
  readonly ok: boolean;
  readonly status: number;
  json(): Promise<unknown>;
}

/**
 * As `fetch`, for bodies that are text. What redirects is left to `fetch` itself, which knows where keys may go.
 * Rejects with a lost answer where more than reading was asked for, and the connection was cut before its end. A body
 * that is no JSON is an error with the `status` of the answer.
 */
export async function plainFetch(
  at: string | URL | Request,
  init: RequestInit = {},
  answerMsMax = ANSWER_MS_MAX,
): Promise<Answer> {
  if (!(typeof at === 'string' || at instanceof URL)) return fetch(at, init);
  const { status, body } = await textAt(at, init, answerMsMax);
  if (GATEWAY_FAILURES.includes(status) && changes(init)) throw lostAnswer();
  return { ok: status >= 200 && status < 300, status, json: async () => Promise.resolve(jsonIn(body, status)) };
}

function jsonIn(body: string, status: number): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    throw Object.assign(new Error(`HTTP ${status} without JSON`), { status }); // where a page begins helps nobody
  }
}

/** What was asked for may be done, and nobody knows. */
export function lostAnswer(): Error {
  return Object.assign(new Error('the answer was lost'), { code: ANSWER_LOST });
}

/** Whether an error is that. */
export function isAnswerLost(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === ANSWER_LOST;
}

async function textAt(
  at: string | URL,
  init: RequestInit,
  answerMsMax: number,
): Promise<{ readonly status: number; readonly body: string }> {
  const answer = await answerOf(new URL(at), init, answerMsMax);
  const { statusCode: status = 0 } = answer;
  if (status < 300 || status >= 400)
    return {
      status,
      body: await textOf(answer).catch((error: unknown) => {
        throw failureOf(error, init);
      }),
    };
  answer.destroy();
  const moved = await fetch(at, init);
  return { status: moved.status, body: await moved.text() };
}

function answerOf(url: URL, init: RequestInit, answerMsMax: number): Promise<IncomingMessage> {
  const { method = 'GET', headers = {}, body, signal } = init;
  // not imported: reading all that node:http exports loads fetch, too
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  return new Promise((resolve, reject) => {
    const asked = refuseUpgrade(
      request(url, {
        method,
        headers: Object.fromEntries(Symbol.iterator in headers ? headers : Object.entries(headers)),
        ...(signal != null && { signal }),
      }),
    );
    let isConnected = false;
    onceConnected(asked, () => (isConnected = true));
    asked.on('response', resolve);
    asked.on('error', (error) => reject(isConnected ? failureOf(error, init) : error));
    bound(asked, answerMsMax);
    asked.end(typeof body === 'string' ? body : undefined);
  });
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

/** What a call failed with that had gone out. The service switches no protocols: what does so stands on the path. */
function failureOf(error: unknown, init: RequestInit): unknown {
  const isLost = error instanceof UnaskedUpgrade || CUTS.includes((error as NodeJS.ErrnoException).code);
  return changes(init) && isLost ? lostAnswer() : error;
}

function changes({ method = 'GET' }: RequestInit): boolean {
  return method !== 'GET';
}

/** Gives it up where it takes too long. */
function bound(asked: ClientRequest, answerMsMax: number): void {
  const giveUp = (what: string, code: string) => asked.destroy(Object.assign(new Error(what), { code }));
  const connecting = setTimeout(() => giveUp('no connection', 'ETIMEDOUT'), CONNECT_MS_MAX);
  onceConnected(asked, () => clearTimeout(connecting));
  asked.once('close', () => clearTimeout(connecting));
  asked.setTimeout(answerMsMax, () => giveUp('no answer', NO_ANSWER));
}

function onceConnected(asked: ClientRequest, connected: () => void): void {
  asked.on('socket', (socket) => {
    // one that was kept alive is connected, and would keep a listener for each call
    if (!socket.connecting) connected();
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected);
  });
}
