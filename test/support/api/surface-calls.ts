/** One operation asked on any surface, by its name and its input, and what was answered in one form. */
import { REFUSAL_META } from '../../../api/mcp/tools.ts';
import { pathParameters, type AnyOperation } from '../../../api/operation.ts';

/** Where an operation is asked. */
export type Surface = 'rest' | 'trpc' | 'mcp';

/** What is asked, by field. */
export type Input = Readonly<Record<string, unknown>>;

/** What came back, in the same form from each surface. */
export interface Answered {
  /** Of HTTP. A tool that refuses is a 200. */
  readonly status: number;
  /** Of the refusal; null when it was done. */
  readonly code: string | null;
  readonly details: unknown;
  /** The resource, `{data, pagination}` of a list, or null. */
  readonly value: unknown;
}

/** The surfaces that offer an operation. */
export function surfacesOf({ rest }: AnyOperation): readonly Surface[] {
  return rest === null ? ['trpc', 'mcp'] : ['rest', 'trpc', 'mcp'];
}

/** Asks. A null key sends no credential; further headers are sent over REST only. */
export async function askOn(
  surface: Surface,
  url: string,
  operation: AnyOperation,
  input: Input,
  key: string | null,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  switch (surface) {
    case 'rest':
      return overRest(url, operation, input, key, headers);
    case 'trpc':
      return overTrpc(url, operation, input, key);
    case 'mcp':
      return overMcp(url, operation, input, key);
    default:
      return surface satisfies never;
  }
}

interface Failure {
  readonly code?: unknown;
  readonly details?: object | null;
  readonly data?: { readonly code: string; readonly details: object | null };
}

async function overRest(
  url: string,
  { rest }: AnyOperation,
  input: Input,
  key: string | null,
  headers: Readonly<Record<string, string>>,
): Promise<Answered> {
  if (rest === null) throw new Error('it has no route');
  const inPath = pathParameters(rest.path);
  const others = Object.entries(input).filter(([name]) => !inPath.includes(name));
  const path = rest.path.replaceAll(/:([a-z_]+)/gu, (_whole, name: string) => encodeURIComponent(String(input[name])));
  const query =
    rest.method === 'GET'
      ? `?${new URLSearchParams(others.map(([name, value]): [string, string] => [name, String(value)])).toString()}`
      : '';
  const hasBody = rest.method !== 'GET' && others.length > 0;
  const response = await send(`${url}/api/v1${path}${query}`, {
    method: rest.method,
    headers: { ...authorized(key, hasBody), ...headers },
    ...(hasBody && { body: JSON.stringify(Object.fromEntries(others)) }),
  });
  const text = await response.text();
  const { data, meta, error } = (text === '' ? {} : JSON.parse(text)) as {
    readonly data?: unknown;
    readonly meta?: { readonly pagination?: unknown };
    readonly error?: Failure;
  };
  if (!response.ok) return refused(response.status, error?.code, error?.details);
  const pagination = meta?.pagination;
  return done(response.status, pagination === undefined ? data : { data, pagination });
}

async function overTrpc(
  url: string,
  { name, kind }: AnyOperation,
  input: Input,
  key: string | null,
): Promise<Answered> {
  const response =
    kind === 'query'
      ? await send(`${url}/api/trpc/${name}?input=${encodeURIComponent(JSON.stringify(input))}`, {
          headers: authorized(key, false),
        })
      : await send(`${url}/api/trpc/${name}`, {
          method: 'POST',
          headers: authorized(key, true),
          body: JSON.stringify(input),
        });
  const { error, result } = (await response.json()) as {
    readonly error?: Failure;
    readonly result?: { readonly data?: unknown };
  };
  return response.ok
    ? done(response.status, result?.data)
    : refused(response.status, error?.data?.code, error?.data?.details);
}

async function overMcp(url: string, { name }: AnyOperation, input: Input, key: string | null): Promise<Answered> {
  const { status, message } = await mcpRequest(url, 'tools/call', { name, arguments: input }, key);
  const result = message.result as
    | {
        readonly isError?: boolean;
        readonly structuredContent?: unknown;
        readonly _meta?: Readonly<Record<string, Failure>>;
      }
    | undefined;
  if (result !== undefined && result.isError !== true) return done(status, result.structuredContent);
  // oxlint-disable-next-line no-underscore-dangle -- MCP's own name
  const error = result === undefined ? message.error : result._meta?.[REFUSAL_META];
  return refused(status, error?.code, error?.details);
}

/** One JSON-RPC request to `/mcp`, answered at once or as the one event of a stream. */
export async function mcpRequest(
  url: string,
  method: string,
  parameters: object | undefined,
  key: string | null,
): Promise<{
  readonly status: number;
  readonly message: { readonly result?: unknown; readonly error?: Failure };
}> {
  const response = await send(`${url}/mcp`, {
    method: 'POST',
    headers: { ...authorized(key, true), accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(parameters !== undefined && { params: parameters }) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    message: JSON.parse(/^data: (?<json>.*)$/mu.exec(text)?.groups?.['json'] ?? text) as object,
  };
}

/**
 * A request as clients send one. A connection that was opened for it, and on which nothing came for 30 s, as other
 * requests of this process had their turn before, is given up by the server just then: whoever asks is told to send it
 * again.
 */
async function send(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options);
  const isLate = response.status === 503 && (await response.clone().text()).includes('did not arrive in time');
  return isLate ? fetch(url, options) : response;
}

function authorized(key: string | null, hasBody: boolean): Record<string, string> {
  return {
    ...(key !== null && { authorization: `Bearer ${key}` }),
    ...(hasBody && { 'content-type': 'application/json' }),
  };
}

function done(status: number, value: unknown): Answered {
  return { status, code: null, details: null, value: value ?? null };
}

function refused(status: number, code: unknown, details: unknown): Answered {
  return { status, code: String(code), details: details ?? null, value: null };
}
