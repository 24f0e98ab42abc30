/**
 * One HTTP exchange with an admin. By `node:http`, which the session loads anyway: global fetch costs 8 MiB of memory.
 */
import type { Agent, IncomingMessage } from 'node:http';
import { refuseUpgrade } from '../../transport/net/streams/unasked-upgrade.ts';
import { networkProblem } from '../problem.ts';

/** A whole exchange takes at most so long, in ms. */
export const EXCHANGE_MS_MAX = 15_000;

/** Largest answer, in bytes. An enrolment answer takes a few KiB. */
export const ANSWER_BYTES_MAX = 262_144;

/** Status and parsed body; null when the body is no JSON. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** What goes with a request beside its URL and body. */
export interface RequestExtras {
  readonly headers?: Readonly<Record<string, string>>;
  /** How it leaves this machine; false: directly, on a connection of its own. */
  readonly agent?: Agent | false;
}

/**
 * Posts `body`, with these headers besides. Follows no redirect. Rejects with one sentence when there is no answer, a
 * late one or one too large.
 */
export function postJson(url: string, body: unknown, extras: RequestExtras = {}): Promise<HttpAnswer> {
  return exchange('POST', url, JSON.stringify(body), extras);
}

/** Deletes what is at `url`. The same otherwise. */
export function deleteAt(url: string, extras: RequestExtras = {}): Promise<HttpAnswer> {
  return exchange('DELETE', url, null, extras);
}

async function exchange(
  method: string,
  url: string,
  text: string | null,
  { headers: more = {}, agent = false }: RequestExtras,
): Promise<HttpAnswer> {
  const signal = AbortSignal.timeout(EXCHANGE_MS_MAX);
  // Not by `import`: that looks at all that node:http exports, and so loads the fetch that is to be spared (measured).
  const { request: send } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = {
        ...more,
        ...(text !== null && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        accept: 'application/json',
      };
      const request = refuseUpgrade(send(url, { method, headers, signal, agent }, resolve));
      request.on('error', reject).end(text ?? undefined);
    });
    return { status: answer.statusCode ?? 0, body: parsedJson(await readBody(answer)) };
  } catch (error) {
    if (signal.aborted) throw new Error(`no answer within ${EXCHANGE_MS_MAX / 1_000} s`, { cause: error });
    throw new Error(networkProblem(error), { cause: error });
  }
}

async function readBody(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer) {
    bytes += (piece as Buffer).length;
    if (bytes > ANSWER_BYTES_MAX) {
      answer.destroy();
      throw new Error('the answer is too large');
    }
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
