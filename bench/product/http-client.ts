/**
 * A small REST client for single requests, on kept-alive connections. Sustained load has its own (pipelined-client.ts).
 */
import { Agent, request } from 'node:http';

/** An answer, whatever its status. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

export interface HttpClient {
  /** `path` is absolute; a body is sent as JSON. */
  request(method: string, path: string, body?: unknown): Promise<HttpAnswer>;
  /** As `request`, below /api/v1; rejects unless the answer is a 2xx, and returns its `data`. */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  close(): void;
}

/** A client of an admin on this machine. */
export function createHttpClient(port: number, key: string): HttpClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const ask = (method: string, path: string, body?: unknown): Promise<HttpAnswer> =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const asked = request(
        {
          host: '127.0.0.1',
          port,
          agent,
          method,
          path,
          headers: {
            authorization: `Bearer ${key}`,
            ...(text === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
          },
        },
        (answer) => {
          const pieces: Buffer[] = [];
          answer.on('data', (piece: Buffer) => pieces.push(piece));
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(pieces).toString() }));
          answer.on('error', reject);
        },
      );
      asked.on('error', reject);
      asked.end(text);
    });
  return {
    request: ask,
    call: async <T>(method: string, path: string, body?: unknown): Promise<T> => {
      const answer = await ask(method, `/api/v1${path}`, body);
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.slice(0, 300)}`);
      return (JSON.parse(answer.body) as { data: T }).data;
    },
    close: () => agent.destroy(),
  };
}
