/**
 * REST, tRPC and MCP are one API: the same operations, inputs and refusals. Made from the catalogue, so that a new
 * operation is held to it at once.
 */
import test from 'ava';
import { catalogue } from '../../../api/catalogue.ts';
import { mountMcp } from '../../../api/mcp/mount.ts';
import { toolInputs } from '../../../api/mcp/tool-schemas.ts';
import { pathParameters, type AnyOperation } from '../../../api/operation.ts';
import { inputSchema } from '../../../api/schemas.ts';
import { createRouter } from '../../../api/trpc/router.ts';
import { mountTrpc } from '../../../api/trpc/mount.ts';
import { answerWith, serve, type Served } from '../../support/api/served.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { commandOf, idOf } from '../../support/api/rows.ts';
import { KEYS } from '../../support/api/fakes.ts';
import { askOn, mcpRequest, type Answered, type Surface } from '../../support/api/surface-calls.ts';

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

const seenOf = ({ code, details }: Answered): Seen =>
  code === null ? 'done' : { code, fields: Object.keys((details as object | null) ?? {}).toSorted() };

test('every operation is a tRPC procedure of its kind and an MCP tool with its input, and no other is', async (t) => {
  // oxlint-disable-next-line no-underscore-dangle -- tRPC's own name for what a router knows of itself
  const procedures = createRouter({ call: served.api.call, gate: served.api.gate, feeds: served.fixture.feeds })._def
    .procedures as unknown as Record<string, { readonly _def: { readonly type: string } }>;
  const { message } = await mcpRequest(served.url, 'tools/list', undefined, KEYS.mcp);
  const { tools } = message.result as {
    readonly tools: readonly { readonly name: string; readonly inputSchema: unknown }[];
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
    tools.map(({ name, inputSchema: schema }) => [name, schema]),
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
      const seen = async (surface: Surface): Promise<Seen> =>
        seenOf(await askOn(surface, served.url, operation, input, key));
      const [trpc, mcp] = [await seen('trpc'), await seen('mcp')];
      // On MCP a wrong key is turned away at the door, as an operation that needs none would not.
      if (operation.scope !== 'public' || key === null || key === KEYS.master)
        t.deepEqual(mcp, trpc, `MCP, ${JSON.stringify(input)}, ${key}`);
      if (operation.rest !== null) t.deepEqual(await seen('rest'), trpc, `REST, ${JSON.stringify(input)}, ${key}`);
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
