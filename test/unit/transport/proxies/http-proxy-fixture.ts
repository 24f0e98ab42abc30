/** A web server behind the HTTP proxy, and requests that go through it. */
import { createServer, request, type IncomingMessage, type RequestListener } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import type { Scope } from '../../../support/scope.ts';
import { basic, type ProxiesFixture } from '../../../support/net/proxies-fixture.ts';
import { listening } from '../../../support/net/listening.ts';

/** A web server behind the proxy. Its URL, and what came. */
export async function openWeb(
  scope: Scope,
  serve: RequestListener,
): Promise<{ readonly port: number; readonly url: string; readonly got: IncomingMessage[] }> {
  const got: IncomingMessage[] = [];
  const server = createServer((incoming, response) => {
    got.push(incoming);
    serve(incoming, response);
  });
  const port = await listening(scope, server);
  return { port, url: `http://127.0.0.1:${port}`, got };
}

/** The answer to a request in absolute form, sent to the proxy. */
export function through(
  proxy: ProxiesFixture,
  url: string,
  {
    method = 'GET',
    headers = {},
    body = null,
  }: {
    readonly method?: string;
    readonly headers?: Record<string, string | string[]>;
    readonly body?: Readable | Buffer | null;
  } = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: '127.0.0.1',
      port: proxy.httpPort,
      method,
      path: url,
      headers: { host: new URL(url).host, 'proxy-authorization': basic('_'), ...headers },
      agent: false,
    });
    outgoing.on('error', reject).on('response', resolve);
    if (body instanceof Readable) void pipeline(body, outgoing).catch(() => {});
    else outgoing.end(body ?? undefined);
  });
}

/** A CONNECT to a port of this machine. */
export function connectLine(port: number, username = '_'): string {
  return `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${basic(username)}\r\n\r\n`;
}
