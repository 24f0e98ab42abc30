/** The list of tools is short, and says all that an assistant needs. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import { z } from 'zod';
import { catalogue } from '../../../../api/catalogue.ts';
import { toolInputs, toolOutput } from '../../../../api/mcp/tool-schemas.ts';
import { toolsOf } from '../../../../api/mcp/tools.ts';
import { operation, type AnyOperation } from '../../../../api/operation.ts';
import { inputSchema, outputSchema, type JsonSchema } from '../../../../api/schemas.ts';

const operations: readonly AnyOperation[] = Object.values(catalogue);
const inputs = toolInputs(operations);

/** Bytes of the whole list: some 16,000 tokens, which an assistant pays for in every conversation. */
const TOOLS_BYTES_MAX = 65_536;

/** Fields of a schema by their dotted paths, each with its description. */
function fieldsOf({ properties = {} }: JsonSchema, prefix = ''): readonly (readonly [string, string | undefined])[] {
  return Object.entries(properties as Readonly<Record<string, JsonSchema>>).flatMap(([name, schema]) => [
    [prefix + name, schema.description] as const,
    ...fieldsOf(schema, `${prefix}${name}.`),
  ]);
}

/** Where another tool is named in place of a schema. */
const ELSEWHERE = /^As in (?<tool>\w+)\.$/u;

test('all tools together are shorter than 64 KiB', (t) => {
  const bytes = Buffer.byteLength(JSON.stringify({ tools: toolsOf(operations) }));

  t.true(bytes < TOOLS_BYTES_MAX, `${bytes}: which tool needs so much? docs/decisions/mcp-schemas.md`);
});

for (const one of operations) {
  test(`the tool ${one.name} has every field of its operation, with what is said of it`, (t) => {
    const whole = inputSchema(one);
    const short = inputs.get(one.name) ?? { type: 'object' };
    const told = new Map(fieldsOf(short));

    t.deepEqual(short.required ?? [], whole.required ?? []);
    t.deepEqual([short.additionalProperties, whole.additionalProperties], [undefined, false]);
    for (const [path, description] of fieldsOf(whole)) {
      const [parent, teller] = elsewhere(told, path);
      if (teller !== null) {
        t.true(tells(teller, path), `${teller} does not tell of ${path}`);
        t.true(told.has(parent));
      } else if (['page', 'page_size', 'sort'].includes(path)) t.true(told.has(path));
      else t.deepEqual([path, told.get(path)], [path, description]);
    }
  });
}

test('tools that create take a key for their retries, also from clients that send no field but those of the schema', (t) => {
  t.deepEqual(
    operations.filter(({ name }) => fieldsIn(inputs.get(name))['idempotency_key'] !== undefined),
    operations.filter(({ creates }) => creates),
  );
});

test('no tool is described by what is true of REST alone', (t) => {
  const ofRest = /%[0-9A-F]{2}|\bREST\b|\banswer is \d{3}\b/u;

  t.deepEqual(
    toolsOf(operations).filter((tool) => ofRest.test(JSON.stringify(tool))),
    [],
  );
});

/** Whether a tool tells of a field, or names one that does. */
function tells(tool: string, path: string): boolean {
  const told = new Map(fieldsOf(inputs.get(tool) ?? {}));
  const [, teller] = elsewhere(told, path);
  return teller === null ? told.has(path) : tells(teller, path);
}

/** The field at or above a path that another tool tells of, and this tool; null where it is told here. */
function elsewhere(told: ReadonlyMap<string, string | undefined>, path: string): readonly [string, string | null] {
  const words = path.split('.');
  for (let length = 1; length <= words.length; length += 1) {
    const parent = words.slice(0, length).join('.');
    const tool = ELSEWHERE.exec(told.get(parent) ?? '')?.groups?.['tool'];
    if (tool !== undefined) return [parent, tool];
  }
  return [path, null];
}

test('what an operation takes, its tool takes', (t) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const taken: Readonly<Record<string, readonly object[]>> = {
    list_nodes: [
      {},
      { page: 1_000_000_000, page_size: 100, sort: ['-status', 'version'] },
      { inserted_at__gte: '2026-01-01', last_seen_at__lte: '2026-01-01T00:00:00Z', labels: 'env in (a,b),!gpu' },
      { status__in: ['healthy'], id_type: 'random', hostname: '*', has_enrollment_key: true },
    ],
    list_clusters: [{ ipv4_range: '10.0.0.0/24', ipv6_range: 'fd00::/64', node_limit__gte: -2_147_483_647 }],
    create_command: [
      {
        command_text: 'x'.repeat(10_000),
        targeting: { type: 'clusters', cluster_names: ['a'], node_filters: { inserted_at__gte: '2026-01-01' } },
        timeout: null,
        expired_at: null,
      },
    ],
    create_cluster: [
      { name: 'a', ipv4_range: null, ipv6_range: null, node_limit: null },
      { name: 'a', ipv4_range: '10.0.0.0/8' },
    ],
    create_ssh_username: [{ node_id: '01a1ff65-6c50-7000-8998-fa490292f846', username: 'abc', public_keys: null }],
  };

  for (const [name, values] of Object.entries(taken)) {
    const [whole, short] = [inputSchema(catalogue[name as keyof typeof catalogue]), inputs.get(name) ?? {}];
    for (const value of values) {
      t.true(ajv.validate(whole, value), `${name} ${JSON.stringify(value).slice(0, 80)} ${ajv.errorsText()}`);
      t.true(ajv.validate(short, value), `${name} ${JSON.stringify(value).slice(0, 80)} ${ajv.errorsText()}`);
    }
  }
});

test('what is wrong in a way that an assistant should know, a tool does not take', (t) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });

  for (const [name, wrong] of [
    ['list_nodes', { page_size: 101 }],
    ['list_nodes', { sort: ['-nothing'] }],
    ['list_nodes', { status__in: ['up'] }],
    ['create_cluster', { name: 'No Name' }],
    ['create_cluster', {}],
    ['create_ssh_username', { node_id: 'x', username: 'abc', password: 'short' }],
  ] as const)
    t.false(ajv.validate(inputs.get(name) ?? {}, wrong), `${name} ${JSON.stringify(wrong)}`);
});

test('alternatives become one schema only where it is as wide', (t) => {
  const schemaOf = (field: z.ZodType) => fieldsIn(toolInputs([definition(field)]).get('ask'))['field'];

  t.deepEqual(schemaOf(z.enum(['a', 'b']).nullable()), { type: ['string', 'null'], enum: ['a', 'b', null] });
  t.deepEqual(schemaOf(z.union([z.enum(['a']), z.string().min(3)])), { type: 'string' });
  t.deepEqual(schemaOf(z.union([z.string(), z.array(z.string())])), {
    anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
  });
});

function fieldsIn(schema: JsonSchema | undefined): Readonly<Record<string, unknown>> {
  return schema?.properties ?? {};
}

function definition(field: z.ZodType): AnyOperation {
  return operation({
    name: 'ask',
    kind: 'query',
    summary: 'Ask.',
    rest: null,
    input: z.strictObject({ field }),
    output: z.null(),
    handle: () => Promise.resolve({ ok: true, value: null }),
  }) as AnyOperation;
}

test('the output schema of a query names what every answer has', (t) => {
  const [node, nodes] = [toolOutput(catalogue.get_node), toolOutput(catalogue.list_nodes)];

  t.deepEqual(node, { type: 'object', required: outputSchema(catalogue.get_node).required });
  t.deepEqual(nodes, {
    type: 'object',
    properties: { data: { type: 'array', items: { required: outputSchema(catalogue.get_node).required } } },
    required: ['data', 'pagination'],
  });
  t.is(toolOutput(catalogue.create_command), null);
});
