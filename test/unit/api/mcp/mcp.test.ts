import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { refuse, UNAVAILABLE } from '../../../../actors/refusal.ts';
import { catalogue } from '../../../../api/catalogue.ts';
import { mountMcp } from '../../../../api/mcp/mount.ts';
import { REFUSAL_META } from '../../../../api/mcp/tools.ts';
import { commandOf, idOf, nodeOf } from '../../../support/api/rows.ts';
import { answerWith, serve, type Served } from '../../../support/api/served.ts';
import { currentClient, olderClient, type McpClient, type ToolAnswer } from '../../../support/api/mcp-clients.ts';
import { KEYS } from '../../../support/api/fakes.ts';

/** Of the program that serves. */
const VERSION = '7.8.9';

const CLIENTS: readonly (readonly [
  string,
  (t: ExecutionContext, url: string, key: string | null) => Promise<McpClient>,
])[] = [
  ['2026-07-28', currentClient],
  ['2025-11-25', olderClient],
];

for (const [protocol, connect] of CLIENTS) {
  test(`a ${protocol} client finds a tool for every operation, each with all of its hints`, async (t) => {
    const { url } = await start(t);
    const client = await connect(t, url, KEYS.mcp);

    const tools = await client.tools();

    t.is(client.protocol(), protocol);
    t.like(client.server(), { name: 'edge-fleet-control', version: VERSION });
    t.deepEqual(
      tools.map(({ name }) => name),
      Object.keys(catalogue),
    );
    t.true(tools.every(({ inputSchema }) => inputSchema.type === 'object'));
    t.true(
      tools.every(({ annotations }) =>
        [
          'readOnlyHint',
          ...(annotations?.['readOnlyHint'] === true ? [] : ['destructiveHint', 'idempotentHint']),
          'openWorldHint',
        ].every((hint) => typeof annotations?.[hint] === 'boolean'),
      ),
    );
    const hintsOf = (name: string) => tools.find((tool) => tool.name === name)?.annotations;
    t.deepEqual(
      [hintsOf('list_nodes'), hintsOf('delete_node'), hintsOf('create_command')],
      [
        { readOnlyHint: true, openWorldHint: false },
        { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
        { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      ],
    );
  });

  test(`a ${protocol} client gets values as structured content and as text`, async (t) => {
    const served = await start(t);
    served.fixture.nodes.set(idOf(0), nodeOf(0));
    served.answer = answerWith(commandOf(1));
    const client = await connect(t, served.url, KEYS.master);
    await client.tools(); // from here on answers are held to the output schemas of the tools

    const listed = await client.call('list_nodes', { status__in: ['healthy'] });
    const created = await client.call('create_command', { command_text: 'true', targeting: { type: 'all' } });

    t.like(listed.structuredContent, { data: [nodeOf(0)], pagination: { total_count: 1 } });
    t.deepEqual(JSON.parse(listed.content[0]?.text ?? ''), listed.structuredContent);
    t.deepEqual(created.structuredContent, commandOf(1));
  });

  test(`a ${protocol} client that asks wrongly is told what is wrong, as a result that its model can read`, async (t) => {
    const served = await start(t);
    served.answer = () => refuse('conflict', 'The cluster still holds nodes.');
    const client = await connect(t, served.url, KEYS.mcp);
    const tools = await client.tools(); // a client that knows the tools holds refusals to their output schemas too

    const invalid = await client.call('create_command', { command_text: '', targeting: { type: 'all' } });
    const missing = await client.call('get_node', { id: idOf(9) });

    t.truthy(tools.find(({ name }) => name === 'get_node')?.outputSchema);
    for (const refused of [invalid, missing])
      t.like(refused, { isError: true, structuredContent: undefined }, JSON.stringify(refused));
    t.regex(textOf(invalid), /^validation_failed: .*command_text.*\(request \S+\)$/u);
    t.like(errorOf(invalid), {
      code: 'validation_failed',
      details: { command_text: errorOf(invalid)?.details?.['command_text'] },
    });
    t.regex(textOf(missing), /^not_found: Resource not found \(request \S+\)$/u);
    t.like(errorOf(missing), { code: 'not_found', message: 'Resource not found', details: null });
  });

  test(`a ${protocol} client is told when a refusal passes`, async (t) => {
    const served = await start(t);
    served.answer = () => ({ ok: false, refusal: UNAVAILABLE });

    const refused = await (
      await connect(t, served.url, KEYS.mcp)
    ).call('create_command', { command_text: 'true', targeting: { type: 'all' } });

    t.regex(textOf(refused), /^service_unavailable: .* Retry after 1 s\. \(request \S+\)$/u);
    t.is(errorOf(refused)?.retry_after_seconds, 1);
  });

  test(`a ${protocol} client tries a create again under the key in its arguments, which is no part of what is created`, async (t) => {
    const served = await start(t);
    served.answer = answerWith(commandOf(1));
    const client = await connect(t, served.url, KEYS.mcp);
    const command = { command_text: 'true', targeting: { type: 'all' } };

    const created = await client.call('create_command', { ...command, idempotency_key: 'once' });
    const malformed = await client.call('create_command', { ...command, idempotency_key: ' ' });
    const noCreate = await client.call('cancel_command', { id: idOf(1), idempotency_key: 'once' });

    t.deepEqual(created.structuredContent, commandOf(1));
    t.like(served.asked[0], { message: { idempotency: { key: 'once' } } });
    t.regex(textOf(malformed), /^bad_request: Malformed Idempotency-Key/u);
    t.deepEqual(Object.keys(errorOf(noCreate)?.details ?? {}), ['idempotency_key']);
    t.is(served.asked.length, 1);
  });

  test(`a ${protocol} client without a credential sees and may call only what is public`, async (t) => {
    const { url } = await start(t);
    const client = await connect(t, url, null);

    t.deepEqual(
      (await client.tools()).map(({ name }) => name),
      ['create_public_enrollment_key'],
    );
    const refused = await client.call('list_nodes');
    t.true(refused.isError);
    t.is(errorOf(refused)?.code, 'unauthorized');
  });

  test(`a ${protocol} client with a wrong key, or one for elsewhere, does not get in`, async (t) => {
    const { url } = await start(t);

    for (const key of ['wrong', KEYS.api, KEYS.metrics]) await t.throwsAsync(connect(t, url, key));
  });

  test(`a ${protocol} client needs no key where MCP_AUTH_ENABLED is false`, async (t) => {
    const { url } = await start(t, { mcpAuthEnabled: false });
    const client = await connect(t, url, null);

    t.is((await client.tools()).length, Object.keys(catalogue).length);
    t.falsy((await client.call('get_admin')).isError);
  });

  test(`a ${protocol} client learns nothing of the cause of a bug`, async (t) => {
    const { url, fixture } = await start(t);
    fixture.failing = true;

    const failed = await (await connect(t, url, KEYS.mcp)).call('list_nodes');

    t.true(failed.isError);
    t.is(errorOf(failed)?.code, 'internal_error');
    t.false(JSON.stringify(failed).includes('cause that nobody'));
  });
}

test('the statuses of HTTP are those of the other surfaces', async (t) => {
  const { url } = await start(t);
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${KEYS.mcp}`,
        ...headers,
      },
    });
  const statusOf = async (answer: Promise<Response>) => (await answer).status;

  t.is(await statusOf(fetch(`${url}/mcp`)), 405);
  t.is(await statusOf(fetch(`${url}/mcp`, { method: 'DELETE' })), 405);
  t.is(await statusOf(post('{')), 400);
  t.is(await statusOf(post('['.repeat(10_000))), 400);
  t.is(await statusOf(post('null')), 400);
  t.is(
    await statusOf(
      post(JSON.stringify(Array.from({ length: 33 }, (_none, id) => ({ jsonrpc: '2.0', id, method: 'ping' })))),
    ),
    400,
  );
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  t.is(await statusOf(post(JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, cancelled]))), 400);
  t.is(await statusOf(post(JSON.stringify([{ jsonrpc: '2.0', id: 2, method: 'ping' }, cancelled]))), 200);
  t.is(await statusOf(post(JSON.stringify(cancelled))), 202);
  t.is(await statusOf(post('x'.repeat(1_100_000))), 413);
  t.is(await statusOf(post('{}', { 'content-type': 'text/plain' })), 415);
  t.is(await statusOf(post('{}', { authorization: 'Bearer wrong' })), 401);
  t.is(await statusOf(post('{}', { authorization: `Bearer ${KEYS.api}` })), 403);
  t.is(await statusOf(post('{}', { origin: 'https://elsewhere.example' })), 403);
  t.is(await statusOf(post('{}', { origin: 'http://localhost:3000' })), 403);
  t.is(await statusOf(post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }), { origin: url })), 200);
});

test('an answer that does not come is cut', async (t) => {
  const served = await serve(t, {
    mounts: () => [mountMcp({ offersPublicTools: false, version: VERSION, answerMsMax: 300 })],
  });
  served.answer = () => new Promise(() => {}) as never;
  const call = { name: 'delete_webhook', arguments: { id: randomUUID() } };

  await t.throwsAsync(
    async () =>
      (
        await fetch(`${served.url}/mcp`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${KEYS.mcp}`,
            accept: 'application/json, text/event-stream',
            'content-type': 'application/json',
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
        })
      ).text(),
    { message: /terminated|fetch failed/u },
  );
});

test('the public tool is listed where it works, and to nobody elsewhere', async (t) => {
  const { url } = await serve(t, { mounts: () => [mountMcp({ offersPublicTools: false, version: VERSION })] });

  for (const [, connect] of CLIENTS) {
    const listed = await Promise.all(
      [KEYS.mcp, KEYS.master, null].map(async (key) =>
        (await (await connect(t, url, key)).tools()).map(({ name }) => name),
      ),
    );
    t.deepEqual(
      listed.map((names) => names.includes('create_public_enrollment_key')),
      [false, false, false],
    );
    t.deepEqual(
      listed.map(({ length }) => length),
      [Object.keys(catalogue).length - 1, Object.keys(catalogue).length - 1, 0],
    );
  }
});

test('an unknown tool is an error', async (t) => {
  const { url } = await start(t);

  for (const [, connect] of CLIENTS)
    await t.throwsAsync(async () => (await connect(t, url, KEYS.mcp)).call('toString'), { message: /Unknown tool/u });
});

/** A refusal, as the other surfaces have it. */
interface RefusalSeen {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, readonly string[]>> | null;
  readonly retry_after_seconds?: number;
}

function errorOf({ _meta: beside }: ToolAnswer): RefusalSeen | undefined {
  return beside?.[REFUSAL_META] as RefusalSeen | undefined;
}

function textOf({ content }: ToolAnswer): string {
  return content[0]?.text ?? '';
}

function start(
  t: ExecutionContext,
  gate: Parameters<typeof serve>[1] extends infer O ? (O extends { gate?: infer G } ? G : never) : never = {},
): Promise<Served> {
  return serve(t, { mounts: () => [mountMcp({ offersPublicTools: true, version: VERSION })], gate });
}
