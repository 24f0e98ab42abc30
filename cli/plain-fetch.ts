/**
 * Calls over Node's HTTP in the form of `fetch`. Loading the latter takes longer than everything else that a short
 * command does: 46 of 140 ms, measured.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { ANSWER_MS_MAX, NO_ANSWER } from './problem.ts';

/** How long a connection may take to come about, in ms. Source: the default of `fetch` in Node. */
const CONNECT_MS_MAX = 10_000;

// tRPC asks of every input whether it is a form, and the name of forms alone loads all of fetch. No input here is one.
// Assigned: to define it anew would load it too.
Object.assign(globalThis, { FormData: function NoForm() {} });

/** What the client of the service reads of an answer. */
interface Answer {
  readonly ok: boolean;
  json(): Promise<unknown>;
}

/** As `fetch`, for bodies that are text. What redirects is left to `fetch` itself, which knows where keys may go. */
export async function plainFetch(
  at: string | URL | Request,
  init: RequestInit = {},
  answerMsMax = ANSWER_MS_MAX,
): Promise<Answer> {
  if (!(typeof at === 'string' || at instanceof URL)) return fetch(at, init);
  const answer = await answerOf(new URL(at), init, answerMsMax);
  const { statusCode: status = 0 } = answer;
  if (status >= 300 && status < 400) {
    answer.destroy();
    return fetch(at, init);
  }
  const body = await textOf(answer);
  return { ok: status >= 200 && status < 300, json: async () => Promise.resolve(JSON.parse(body) as unknown) };
}

function answerOf(
  url: URL,
  { method = 'GET', headers = {}, body, signal }: RequestInit,
  answerMsMax: number,
): Promise<IncomingMessage> {
  // not imported: reading all that node:http exports loads fetch, too
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  return new Promise((resolve, reject) => {
    const asked = request(url, {
      method,
      headers: Object.fromEntries(Symbol.iterator in headers ? headers : Object.entries(headers)),
      ...(signal != null && { signal }),
    });
    asked.on('response', resolve);
    asked.on('error', reject);
    bound(asked, answerMsMax);
    asked.end(typeof body === 'string' ? body : undefined);
  });
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

/** Gives it up where it takes too long. */
function bound(asked: ClientRequest, answerMsMax: number): void {
  const giveUp = (what: string, code: string) => asked.destroy(Object.assign(new Error(what), { code }));
  const connecting = setTimeout(() => giveUp('no connection', 'ETIMEDOUT'), CONNECT_MS_MAX);
  asked.on('socket', (socket) => {
    // one that was kept alive is connected, and would keep a listener for each call
    if (!socket.connecting) clearTimeout(connecting);
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
  });
  asked.once('close', () => clearTimeout(connecting));
  asked.setTimeout(answerMsMax, () => giveUp('no answer', NO_ANSWER));
}
