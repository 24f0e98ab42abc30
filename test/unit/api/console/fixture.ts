/** An API with the console on it, its sessions in memory, and a browser that is only headers. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { consoleBeside, type ConsoleKit } from '../../../../api/console/open-console.ts';
import { ConsoleCounters } from '../../../../api/console/counters.ts';
import type { SessionRows } from '../../../../api/console/ports.ts';
import type { GateSettings } from '../../../../api/principals.ts';
import { mountTrpc } from '../../../../api/trpc/mount.ts';
import { memorySessionRows } from '../../../support/api/session-rows.ts';
import { serve, type Served } from '../../../support/api/served.ts';
import { KEYS, SOME_ID } from '../../../support/api/fakes.ts';
import { createFakeClock, type FakeClock } from '../../../support/fake-clock.ts';
import type { Scope } from '../../../support/scope.ts';

/** What the server answered. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly body: {
    readonly data?: Readonly<Record<string, unknown>> & readonly Readonly<Record<string, unknown>>[];
    readonly error?: { readonly code: string; readonly message: string; readonly details: unknown };
  };
}

/** The console, served. */
export interface ServedConsole extends Served {
  readonly clock: FakeClock;
  readonly rows: SessionRows;
  readonly counters: ConsoleCounters;
  /** As the console's own page asks, unless `headers` say otherwise. */
  readonly ask: (
    method: string,
    path: string,
    options?: { headers?: OutgoingHttpHeaders; body?: unknown },
  ) => Promise<Answer>;
  /** Signs in; the cookie as browsers send it back. */
  readonly signIn: (key?: string) => Promise<string>;
}

/** What a page of this very origin sends. */
export function ownPage(url: string): OutgoingHttpHeaders {
  return { origin: url, 'sec-fetch-site': 'same-origin' };
}

/** Serves it; the test ends it. Its time is the test's. */
export async function serveConsole(
  t: Scope,
  options: { readonly gate?: Partial<GateSettings>; readonly rows?: SessionRows } & Partial<ConsoleKit> = {},
): Promise<ServedConsole> {
  const clock = createFakeClock(Date.UTC(2026, 0, 15, 10));
  const rows = options.rows ?? memorySessionRows(clock);
  const counters = options.counters ?? new ConsoleCounters();
  let made = 0;
  const beside = consoleBeside({
    rows,
    clock,
    newId: () => SOME_ID.replace(/.{3}$/u, String((made += 1)).padStart(3, '0')),
    terminals: options.terminals ?? { takeSignedIn: ([, socket]) => socket.destroy() },
    counters,
    isPlainAllowed: options.isPlainAllowed ?? false,
    admin: { name: 'one', version: '0.0.0-test' },
    assets: options.assets ?? (async () => null),
    elsewhere: options.elsewhere ?? { find: async () => null },
  });
  const served = await serve(t, { mounts: ({ feeds }) => [mountTrpc(feeds, clock, beside)], gate: options.gate ?? {} });
  const ask: ServedConsole['ask'] = (method, path, { headers = ownPage(served.url), body } = {}) =>
    send(served.url + path, method, headers, body);
  return Object.assign(served, {
    clock,
    rows,
    counters,
    ask,
    async signIn(key: string = KEYS.api) {
      const { headers } = await ask('POST', '/console/session', { body: { key } });
      return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    },
  });
}

async function send(url: string, method: string, headers: OutgoingHttpHeaders, body: unknown): Promise<Answer> {
  const content = body === undefined ? {} : { 'content-type': 'application/json' };
  const asked = httpRequest(url, { method, headers: { ...content, ...headers } });
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const said = await text(answer);
  const isJson = String(answer.headers['content-type']).startsWith('application/json');
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    text: said,
    body: isJson ? (JSON.parse(said) as Answer['body']) : {},
  };
}
