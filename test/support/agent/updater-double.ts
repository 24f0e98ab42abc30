/** An updater as agents see it, for tests: a real HTTP server that answers what the test says, and notes who asked. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Scope } from '../scope.ts';
import { listening } from '../net/listening.ts';

/** What it was asked. */
export interface UpdaterAsk {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly authorization: string;
  /** The request that the agent names; null: none. */
  readonly request: string | null;
}

/** An answer: status, body and headers; or whatever is done with the response. */
export type UpdaterReply =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | ((response: ServerResponse) => void);

/** Answers by path; whatever is missing is a 404. */
export type UpdaterReplies = Readonly<Record<string, (ask: UpdaterAsk, count: number) => UpdaterReply>>;

/** The token that it takes unless told otherwise. */
export const UPDATER_TOKEN = 'updater-token-of-this-machine';

export class UpdaterDouble {
  readonly asks: UpdaterAsk[] = [];
  readonly url: string;
  /** May be changed at any time. */
  replies: UpdaterReplies;

  private constructor(port: number, replies: UpdaterReplies) {
    this.url = `http://127.0.0.1:${port}`;
    this.replies = replies;
  }

  /** Takes the signal by a 202 unless told otherwise. It lives until the scope ends. */
  static async start(
    scope: Scope,
    replies: UpdaterReplies = { '/v1/update': () => ({ status: 202, body: {} }) },
    port = 0,
  ): Promise<UpdaterDouble> {
    const server = createServer({ keepAliveTimeout: 0 }); // an agent of a busy machine may be about to use it
    const double = new UpdaterDouble(await listening(scope, server, '127.0.0.1', port), replies);
    server.on('request', (request, response) => double.#answer(request, response));
    return double;
  }

  /** With the settings of an agent that asks it. */
  settings(): Readonly<Record<string, string>> {
    return { AGENT_SELF_UPDATE_ENABLED: 'true', AGENT_UPDATER_URL: this.url, AGENT_UPDATER_TOKEN: UPDATER_TOKEN };
  }

  /** Those of one path. */
  of(path: string): readonly UpdaterAsk[] {
    return this.asks.filter((ask) => ask.path === path);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, search } = new URL(request.url ?? '/', this.url);
    const named = request.headers['x-edge-update-request'];
    const ask: UpdaterAsk = {
      method: request.method ?? '',
      path: pathname,
      query: search,
      authorization: request.headers.authorization ?? '',
      request: typeof named === 'string' ? named : null,
    };
    this.asks.push(ask);
    request.resume();
    const reply = this.replies[pathname]?.(ask, this.of(pathname).length) ?? { status: 404, body: 'not found' };
    if (typeof reply === 'function') return reply(response);
    const { status, body = '', headers = {} } = reply;
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  }
}
