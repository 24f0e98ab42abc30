/** Services that are not what a person takes them for, and people's directories. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { storeConnection } from '../../../cli/service/contexts.ts';
import { startEdge, type Ended } from '../../support/edge-program.ts';
import { listening } from '../../support/net/listening.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** The only node of such a service. */
export const NODE = '01900000-0000-7000-8000-000000000001';

/** One that listens. */
export interface Service {
  readonly url: string;
  /** Headers of every request, in order. */
  readonly heard: IncomingHttpHeaders[];
  /** Operations that were asked, in order, with their input. */
  readonly asked: (readonly [operation: string, input: Readonly<Record<string, unknown>>])[];
}

/** What an honest admin says of itself, and of a list without rows. */
export const ADMIN = { name: 'own', version: '1', proxies: { http_port: 43_128, socks5_port: 41_080 } };
const NOTHING = { total_count: 0, has_next: false };

/**
 * Answers by what is asked: the input of the operation, as JSON. What it throws is that it is not available, or not
 * there.
 */
export type Answer = (input: Readonly<Record<string, unknown>>) => unknown;

/** What an answer throws where there is no such thing. */
export function notFound(): Error {
  return new Error('Resource not found', { cause: 'not_found' });
}

/** These rows, page by page. Another list may be given for each page, as one changes while it is read. */
export function paged(rows: readonly object[] | ((page: number) => readonly object[])): Answer {
  return ({ page, page_size: size }) => {
    const [at, length] = [Number(page ?? 1), Number(size ?? 20)];
    const now = typeof rows === 'function' ? rows(at) : rows;
    return {
      data: now.slice((at - 1) * length, at * length),
      pagination: { total_count: now.length, has_next: at * length < now.length },
    };
  };
}

/** A service that answers each operation with what is given, or what that makes of its input, as tRPC does. */
export async function service(t: ExecutionContext, answers: Readonly<Record<string, unknown>> = {}): Promise<Service> {
  const heard: IncomingHttpHeaders[] = [];
  const asked: Service['asked'] = [];
  const answerTo = async (request: IncomingMessage): Promise<object> => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://service');
    const operation = pathname.replace('/api/trpc/', '');
    const answer = { get_admin: ADMIN, ...answers }[operation];
    const sent = request.method === 'POST' ? await text(request) : searchParams.get('input');
    const input = JSON.parse(sent ?? '{}') as Parameters<Answer>[0];
    asked.push([operation, input]);
    try {
      const data = typeof answer === 'function' ? await (answer as Answer)(input) : answer;
      return { result: { data: data ?? { data: [], pagination: NOTHING } } };
    } catch (error) {
      const code = error instanceof Error && error.cause === 'not_found' ? error.cause : 'service_unavailable';
      return { error: { message: String(error), code: -32_603, data: { code } } };
    }
  };
  const server = createServer((request, response) => {
    heard.push(request.headers);
    void answerTo(request).then((answer) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer)),
    );
  }).on('connect', (request, socket) => {
    heard.push(request.headers);
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
  });
  return { url: `http://127.0.0.1:${await listening(t, server)}`, heard, asked };
}

/** A person's directory, with what `edge login` remembered there. */
export function home(
  t: ExecutionContext,
  stored: Parameters<typeof storeConnection>[0] | null = null,
): Record<string, string> {
  const directory = temporaryDirectory(t);
  const env = { XDG_CONFIG_HOME: directory };
  if (stored !== null) storeConnection(stored, env);
  return env;
}

/** A person who gives a key, and remembers none. */
export const stranger = (t: ExecutionContext, url: string): Record<string, string> => ({
  ...home(t),
  EDGE_URL: url,
  EDGE_API_KEY: 'a-key-that-is-given',
});

/** Runs `edge` to its end. */
export const edge = (env: Record<string, string>, ...args: string[]): Promise<Ended> => startEdge(args, env).ended;
