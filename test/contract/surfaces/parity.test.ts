/**
 * REST, tRPC and MCP are one API: the same operations, inputs and refusals. Made from the catalogue, so that a new
 * operation is held to it at once.
 */
import test from 'ava';
import { catalogue } from '../../../api/catalogue.ts';
import { mountMcp } from '../../../api/mcp/mount.ts';
import { toolInputs } from '../../../api/mcp/tool-schemas.ts';
import { REFUSAL_META } from '../../../api/mcp/tools.ts';
import { pathParameters, type AnyOperation } from '../../../api/operation.ts';
import { inputSchema } from '../../../api/schemas.ts';
import { createRouter } from '../../../api/trpc/router.ts';
import { mountTrpc } from '../../../api/trpc/mount.ts';
import { answerWith, serve, type Served } from '../../support/api/served.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { commandOf, idOf } from '../../support/api/rows.ts';
import { KEYS } from '../../support/api/fakes.ts';

const operations: readonly AnyOperation[] = Object.values(catalogue);

const scope = createScope();
let served: Served;
test.before(async () => {
  served = await start(scope);
});
test.after.always(() => scope.end());

/** Values for any field that inputs have, right or at least of the right form. */
const VALUES: Readonly<Record<string, unknown>> = {
  id: idOf(1),
  node_id: idOf(1),
  name: 'demo',
  cluster_name: 'demo',
  type: 'edge.core.test',
  command_text: 'true',
  targeting: { type: 'all' },
  node_limit: null,
  labels: { env: 'prod' },
};

/** How an answer looks from outside: a refusal by its code and the fields that it names, or done. */
type Seen = { readonly code: string; readonly fields: readonly string[] } | 'done';

interface Reply {
  readonly error?: {
    readonly code?: unknown;
    readonly details?: object | null;
    readonly data?: { readonly code: string; readonly details: object | null };
  };
}

const seenOf = (code: unknown, details: object | null | undefined): Seen => ({
  code: String(code),
  fields: Object.keys(details ?? {}).toSorted(),
});

async function overRest(
  { url }: Served,
  { rest }: AnyOperation,
  input: Readonly<Record<string, unknown>>,
  key: string | null,
): Promise<Seen> {
  if (rest === null) throw new Error('it has no route');
  const inPath = pathParameters(rest.path);
  const others = Object.entries(input).filter(([name]) => !inPath.includes(name));
  const path = rest.path.replaceAll(/:([a-z_]+)/gu, (_whole, name: string) => encodeURIComponent(String(input[name])));
  const query =
    rest.method === 'GET'
      ? `?${new URLSearchParams(others.map(([name, value]): [string, string] => [name, String(value)])).toString()}`
      : '';
  const hasBody = rest.method !== 'GET' && others.length > 0;
  const answer = await fetch(`${url}/api/v1${path}${query}`, {
    method: rest.method,
    headers: headersOf(key, hasBody),
    ...(hasBody && { body: JSON.stringify(Object.fromEntries(others)) }),
  });
  if (answer.ok) return 'done';
  const { error } = (await answer.json()) as Reply;
  return seenOf(error?.code, error?.details);
}

async function overTrpc(
  { url }: Served,
  { name, kind }: AnyOperation,
  input: object,
  key: string | null,
): Promise<Seen> {
  const answer =
    kind === 'query'
      ? await fetch(`${url}/api/trpc/${name}?input=${encodeURIComponent(JSON.stringify(input))}`, {
          headers: headersOf(key, false),
        })
      : await fetch(`${url}/api/trpc/${name}`, {
          method: 'POST',
          headers: headersOf(key, true),
          body: JSON.stringify(input),
        });
  if (answer.ok) return 'done';
  const { error } = (await answer.json()) as Reply;
  return seenOf(error?.data?.code, error?.data?.details);
}

async function overMcp({ url }: Served, { name }: AnyOperation, input: object, key: string | null): Promise<Seen> {
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { ...headersOf(key, true), accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }),
  });
  const text = await answer.text();
  const message = JSON.parse(/^data: (?<json>.*)$/mu.exec(text)?.groups?.['json'] ?? text) as Reply & {
    readonly result?: { readonly isError?: boolean; readonly _meta?: Readonly<Record<string, Reply['error']>> };
  };
  const { result } = message;
  // oxlint-disable-next-line no-underscore-dangle -- MCP's own name
  const error = result === undefined ? message.error : result._meta?.[REFUSAL_META];
  return result !== undefined && result.isError !== true ? 'done' : seenOf(error?.code, error?.details);
}

function headersOf(key: string | null, hasBody: boolean): Record<string, string> {
  return {
    ...(key !== null && { authorization: `Bearer ${key}` }),
    ...(hasBody && { 'content-type': 'application/json' }),
  };
}

test('every operation is a tRPC procedure of its kind and an MCP tool with its input, and no other is', async (t) => {
  // oxlint-disable-next-line no-underscore-dangle -- tRPC's own name for what a router knows of itself
  const procedures = createRouter({ call: served.api.call, gate: served.api.gate, feeds: served.fixture.feeds })._def
    .procedures as unknown as Record<string, { readonly _def: { readonly type: string } }>;
  const answer = await fetch(`${served.url}/mcp`, {
    method: 'POST',
    headers: { ...headersOf(KEYS.mcp, true), accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  const text = await answer.text();
  const { result } = JSON.parse(/^data: (?<json>.*)$/mu.exec(text)?.groups?.['json'] ?? text) as {
    readonly result: { readonly tools: readonly { readonly name: string; readonly inputSchema: unknown }[] };
  };

  const subscriptions = ['nodes.watch', 'commands.watch', 'executions.tail', 'events.watch'].map((name) => [
    name,
    'subscription',
  ]);
  t.deepEqual(
    Object.entries(procedures).map(([name, { _def }]) => [name, _def.type]),
    [...operations.map(({ name, kind }) => [name, kind]), ...subscriptions],
  );
  t.deepEqual(
    result.tools.map(({ name, inputSchema: schema }) => [name, schema]),
    operations.map(({ name }) => [name, JSON.parse(JSON.stringify(toolInputs(operations).get(name))) as unknown]),
  );
});

for (const operation of operations) {
  test(`${operation.name} lets in and refuses alike on REST, tRPC and MCP`, async (t) => {
    const [right = {}, ...wrong] = inputsOf(operation);
    const keys = [null, 'a-wrong-key-of-the-test', KEYS.proxy, KEYS.master];
    // What is wrong matters to those who are let in; whoever is not is told nothing of it.
    const asked = [
      ...keys.map((key) => ({ input: right, key })),
      ...wrong.map((input) => ({ input, key: KEYS.master })),
    ];
    asked.push(...[null, KEYS.proxy].map((key) => ({ input: wrong.at(-1) ?? right, key })));

    for (const { input, key } of asked) {
      const trpc = await overTrpc(served, operation, input, key);
      const mcp = await overMcp(served, operation, input, key);
      // On MCP a wrong key is turned away at the door, as an operation that needs none would not.
      if (operation.scope !== 'public' || key === null || key === KEYS.master)
        t.deepEqual(mcp, trpc, `MCP, ${JSON.stringify(input)}, ${key}`);
      if (operation.rest !== null)
        t.deepEqual(await overRest(served, operation, input, key), trpc, `REST, ${JSON.stringify(input)}, ${key}`);
    }
  });
}

/** Inputs that reach the handler, that have a field too many, and that are wrong in one field each. */
function inputsOf(operation: AnyOperation): readonly Readonly<Record<string, unknown>>[] {
  const { properties = {}, required = [] } = inputSchema(operation) as {
    readonly properties?: object;
    readonly required?: readonly string[];
  };
  const right = Object.fromEntries(required.map((field) => [field, VALUES[field] ?? 'x']));
  const inPath = operation.rest === null ? [] : pathParameters(operation.rest.path);
  const isGet = operation.rest?.method === 'GET';
  return [
    right,
    { ...right, no_such_field: 'x' },
    ...Object.keys(properties)
      .slice(0, 4)
      .map((field) => ({ ...right, [field]: isGet || inPath.includes(field) ? '!' : [{ wrong: true }] })),
  ];
}

async function start(t: Scope): Promise<Served> {
  const served = await serve(t, {
    mounts: ({ feeds }, clock) => [mountTrpc(feeds, clock), mountMcp({ offersPublicTools: true, version: '1.0.0' })],
  });
  served.answer = answerWith(commandOf(1));
  return served;
}
