/** One HTTP POST of JSON. By `node:http`, which the session loads anyway: global fetch costs 8 MiB of memory. */
import type { IncomingMessage } from 'node:http';
import { networkProblem } from './problem.ts';

/** A whole exchange takes at most so long, in ms. */
export const POST_MS_MAX = 15_000;

/** Largest answer, in bytes. An enrolment answer takes a few KiB. */
export const ANSWER_BYTES_MAX = 262_144;

/** Status and parsed body; null when the body is no JSON. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Posts `body`, with these headers besides. Follows no redirect. Rejects with one sentence when there is no answer, a
 * late one or one too large.
 */
export async function postJson(
  url: string,
  body: unknown,
  more: Readonly<Record<string, string>> = {},
): Promise<HttpAnswer> {
  const signal = AbortSignal.timeout(POST_MS_MAX);
  const text = JSON.stringify(body);
  // Not by `import`: that looks at all that node:http exports, and so loads the fetch that is to be spared (measured).
  const { request: send } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = {
        ...more,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        accept: 'application/json',
      };
      send(url, { method: 'POST', headers, signal, agent: false }, resolve).on('error', reject).end(text);
    });
    return { status: answer.statusCode ?? 0, body: parsedJson(await readBody(answer)) };
  } catch (error) {
    if (signal.aborted) throw new Error(`no answer within ${POST_MS_MAX / 1_000} s`, { cause: error });
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
