/**
 * A stand-in for a Netmaker server: its REST API as far as this project uses it, in memory, with the quirks of its
 * versions to be switched. Written after its controllers and models of versions 0.18 to 1, as public documentation and
 * sources describe them. A real one is the judge where there is one: see test/contract/vpn/netmaker.test.ts.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listening, pour } from '../net/listening.ts';
import type { Scope } from '../scope.ts';
import { NetmakerApi, refused, type Answer } from './api.ts';
import { MODERN, type Quirks } from './quirks.ts';
import { NetmakerState, type Inspection } from './state.ts';

/**
 * What a fault does to a request: no answer, an answer of another program, one that says it is busy, or the work done
 * and the answer lost.
 */
export type Fault = 'hang' | 'cut' | 'busy' | 'garbage' | 'endless' | 'lost' | null;

/** A piece of more than anybody should read. */
const ENDLESS = Buffer.alloc(1 << 20, ' ');

/** Starts one, ended with the scope. */
export async function startFakeNetmaker(scope: Scope, quirks: Quirks = MODERN): Promise<FakeNetmaker> {
  const fake = new FakeNetmaker(quirks);
  fake.url = `http://127.0.0.1:${await listening(
    scope,
    createServer((request, response) => fake.take(request, response)),
  )}`;
  return fake;
}

/** A running stand-in. */
export class FakeNetmaker {
  url = '';
  readonly masterKey = `nm-${randomBytes(24).toString('base64url')}`;
  /** What is there, to be changed past the API. */
  readonly byHand: NetmakerState;
  /** What happens to the next requests; asked for each. */
  fault: (method: string, path: string) => Fault = () => null;
  /** Every request, as `METHOD path`. */
  readonly requests: string[] = [];
  readonly #api: NetmakerApi;
  readonly #wraps: boolean;
  #open = 0;
  #openMax = 0;

  constructor(quirks: Quirks) {
    this.byHand = new NetmakerState(quirks);
    this.#api = new NetmakerApi(this.byHand, quirks);
    this.#wraps = quirks.wraps;
  }

  /** Requests that were answered at the same time, at most. */
  openMax(): number {
    return this.#openMax;
  }

  /** A machine's client enters a network by its token, as `netclient` does: its host's id. */
  async register(token: string, name: string, id: string = randomUUID()): Promise<string> {
    const response = await fetch(`${this.url}/api/v1/host/register/${encodeURIComponent(token)}`, {
      method: 'POST',
      body: JSON.stringify({ id, name, version: 'v1.0.0' }),
    });
    if (!response.ok) throw new Error(`the host was not registered: ${response.status}`);
    await response.arrayBuffer();
    return id;
  }

  /** Late deletions are over. */
  settle(): void {
    this.byHand.settle();
  }

  /** What is there. */
  state(): Inspection {
    return this.byHand.inspect();
  }

  addressesOf(network: string): readonly string[] {
    return this.byHand
      .live()
      .filter((node) => node.network === network)
      .flatMap((node) => [this.byHand.addressOf(node, 4), this.byHand.addressOf(node, 6)]);
  }

  /** Serves a request. */
  take(request: IncomingMessage, response: ServerResponse): void {
    this.#open += 1;
    this.#openMax = Math.max(this.#openMax, this.#open);
    response.on('close', () => {
      this.#open -= 1;
    });
    void this.#serve(request, response);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://netmaker');
    const method = request.method ?? '';
    this.requests.push(`${method} ${url.pathname}`);
    const fault = this.fault(method, url.pathname);
    if (fault === 'hang') return;
    if (fault === 'cut') return void request.socket.destroy();
    if (fault === 'busy') return void response.writeHead(503).end('busy');
    if (fault === 'garbage')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>a login page</html>');
    if (fault === 'endless') return pour(response.writeHead(200, { 'content-type': 'application/json' }), ENDLESS);
    const { status, body } = this.#answered(request, url, await text(request));
    if (fault === 'lost') return void request.socket.destroy();
    const isWrapped = this.#wraps && status === 200;
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(isWrapped ? { Code: 200, Message: 'fetched', Response: body } : body));
  }

  #answered({ method = '', headers }: IncomingMessage, url: URL, sent: string): Answer {
    const isOpen = url.pathname === '/api/server/status' || url.pathname.startsWith('/api/v1/host/register/');
    if (!isOpen && headers.authorization !== `Bearer ${this.masterKey}`)
      return refused(
        401,
        `W1R3: You are unauthorized to access this endpoint with ${headers.authorization ?? 'nothing'}.`,
      );
    return this.#api.answer({
      method,
      path: url.pathname.split('/').slice(2).map(decodeURIComponent),
      query: url.searchParams,
      body: sent === '' ? {} : (JSON.parse(sent) as Record<string, unknown>),
    });
  }
}
