/**
 * Whatever comes over the wire, a real admin refuses it clearly, goes on serving the others, and calls nothing a bug.
 */
import { connect } from 'node:net';
import { randomBytes, randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import ava, { type ExecutionContext } from 'ava';
import { catalogue } from '../../../api/catalogue.ts';
import type { AnyOperation } from '../../../api/operation.ts';
import { inputSchema } from '../../../api/schemas.ts';
import { BUSY_MS, patient } from '../../support/busy.ts';
import { CLUSTER, FLEET_KEYS } from '../../support/fleet.ts';
import { enrollment, enrollRaw, type RawSession } from '../../support/fleet/raw-agent.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';

const { serial: test } = ava; // a hundred at once would measure how the admin bears a crowd
const fleet = sharedFleet(
  ava,
  { agents: 1, env: { AUTH_FAILURES_PER_MINUTE_MAX: '100000' } },
  {
    title: 'no request and no frame was a bug, and the admin still serves',
    check: async (t) => {
      const { program, url } = fleet().admins[0] ?? {};
      t.deepEqual(
        program?.lines().filter(({ level }) => level === 'error'),
        [],
      );
      t.is((await fetch(`${url ?? ''}/healthz`)).status, 200);
      t.is(program?.exit, null);
    },
  },
);
const routed: readonly AnyOperation[] = Object.values(catalogue).filter(({ rest }) => rest !== null);

/** Cut within this time after the offence, in ms. Source: docs/promises.md, L1. */
const CUT_MS_MAX = 2_000 + BUSY_MS;

/** Levels of nesting that exhaust the stack of whatever walks them. */
const DEPTH = 200_000;

const NASTY = [
  '',
  ' ',
  '*',
  'default',
  CLUSTER,
  'null',
  'a\u0000b',
  '\ud800',
  '%',
  "'; drop table node; --",
  '../../..',
  '2026-02-30',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59-14:00',
  '10.0.0.0/8',
  'fd00::/64',
  '[',
  'x'.repeat(5_000),
  0,
  -1,
  1,
  1.5,
  1e308,
  2_147_483_648,
  true,
  false,
  null,
  [],
  {},
  { type: 'all' },
  { $ne: null },
];
const anything = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...NASTY) },
  fc.jsonValue({ maxDepth: 4 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer(),
);
const parameter = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(randomUUID(), CLUSTER) },
  fc.constantFrom('nope', 'default', '%00', '%ff', '%F0%9F%92%A9', '..%2f..', 'a*', 'x'.repeat(2_000)),
  fc.string({ unit: 'binary-ascii', maxLength: 12 }).map(encodeURIComponent),
);

for (const operation of routed) {
  test(`${operation.name}: no path, query or body makes the admin fail`, async (t) => {
    const { method, path } = operation.rest ?? { method: 'GET', path: '' };
    const fields = Object.keys(inputSchema(operation).properties ?? {});
    const name = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...fields, 'nope') },
      fc.constantFrom('__proto__', 'constructor'),
      fc.string({ unit: 'binary', maxLength: 8 }),
    );
    const body = fc.oneof({ weight: 6, arbitrary: fc.dictionary(name, anything, { maxKeys: 6 }) }, anything);
    const query = fc.array(fc.tuple(name, fc.oneof(parameter, fc.constantFrom('1', '-1', 'true', ',', '2026-01-01'))), {
      maxLength: 3,
    });

    await fc.assert(
      fc.asyncProperty(parameter, query, fc.option(body), async (one, search, sent) => {
        const text = search.map(([key, value]) => `${encodeURIComponent(key.toWellFormed())}=${value}`).join('&');
        const answer = await fleet().rest.call(
          method,
          `${path.replaceAll(/:\w+/gu, one)}${text === '' ? '' : `?${text}`}`,
          { ...(method !== 'GET' && sent !== null && { body: JSON.stringify(sent) }) },
        );
        return answer.status < 500 && (answer.status < 300 || answer.error !== undefined);
      }),
      { numRuns: 12 },
    );
    t.pass();
  });
}

const deep = (open: string, close: string) =>
  `{"command_text":"true","targeting":${open.repeat(DEPTH)}${close.repeat(DEPTH)}}`;
for (const [what, body, wanted, headers] of [
  ['text that is no JSON', '{ "command_text": ', [400], {}],
  ['nothing at all', '', [400, 422], { 'content-type': 'application/json' }],
  ['arrays in arrays, 200,000 levels', deep('[', ']'), [400, 422], {}],
  ['objects in objects, 200,000 levels', deep('{"a":', '}').replace('{"a":}', '{}'), [400, 413, 422], {}],
  ['more than 1 MiB', JSON.stringify({ command_text: 'x'.repeat(1_100_000), targeting: { type: 'all' } }), [413], {}],
  [
    'a script of more than 128 KiB',
    JSON.stringify({ command_text: 'x'.repeat(140_000), targeting: { type: 'all' } }),
    [422],
    {},
  ],
  ['another media type', '<command/>', [415], { 'content-type': 'application/xml' }],
  ['a prototype', '{"__proto__":{"command_text":"true"},"targeting":{"type":"all"}}', [400, 422], {}],
] as const) {
  test(`a body that is ${what} is refused with ${wanted.join(' or ')}`, async (t) => {
    const answer = await fleet().rest.call('POST', '/commands', { body, headers });

    t.true((wanted as readonly number[]).includes(answer.status), `${answer.status} ${answer.text.slice(0, 200)}`);
    t.truthy(answer.error?.code);
  });
}

test('enrolment takes anything that strangers send, and answers no 500', async (t) => {
  const fields = Object.keys(enrollment(''));
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom(...fields, 'recovery_key', 'aliases', '__proto__'), anything),
      fc.boolean(),
      async (body, complete) => {
        const answer = await fleet().rest.call('POST', '/agents/enroll', {
          body: JSON.stringify(complete ? { ...enrollment('e30'), ...body } : body),
        });
        return answer.status >= 400 && answer.status < 500;
      },
    ),
    { numRuns: 40 },
  );
  t.pass();
});

const hello = (session: RawSession, more: object) =>
  session.sendRaw(JSON.stringify({ seq: 1, type: 'hello', ...more }));

/** What breaks the contract of a session: on a greeted one, or before the greeting. */
const OFFENCES: readonly (readonly [string, boolean, (session: RawSession) => void])[] = [
  ['text that is no JSON', true, (session) => session.sendRaw('{{{')],
  ['an empty message', true, (session) => session.sendRaw('')],
  ['a binary message', true, (session) => session.sendRaw(randomBytes(64))],
  ['a frame of an unknown type', true, (session) => session.sendRaw('{"seq":2,"type":"format-disk"}')],
  ['a number that was skipped', true, (session) => session.sendRaw('{"seq":7,"type":"ping"}')],
  ['a number that was used', true, (session) => session.sendRaw('{"seq":1,"type":"ping"}')],
  ['no number', true, (session) => session.sendRaw('{"type":"ping"}')],
  ['a second hello', true, (session) => session.sendRaw(JSON.stringify({ seq: 2, type: 'hello', protocol: 1 }))],
  [
    '200,000 levels of nesting',
    true,
    (session) => session.sendRaw(`{"seq":2,"type":"report","report":${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}}`),
  ],
  [
    'a frame of more than 1 MiB',
    true,
    (session) => session.sendRaw(`{"seq":2,"type":"ping","x":"${'x'.repeat(1_100_000)}"}`),
  ],
  [
    'a flood',
    true,
    (session) => {
      for (let seq = 2; seq < 6_000; seq += 1) session.sendRaw(JSON.stringify({ seq, type: 'ping' }));
    },
  ],
  ['a ping before the hello', false, (session) => session.sendRaw('{"seq":1,"type":"ping"}')],
  [
    'a hello of another node',
    false,
    (session) =>
      hello(session, {
        protocol: 1,
        node: randomUUID(),
        registration: {
          version: '1',
          id_type: 'persistent',
          ports: enrollment('')['ports'],
          self_update_enabled: false,
        },
        report: { services: [] },
        holding: [],
      }),
  ],
  ['a hello without what belongs to it', false, (session) => hello(session, {})],
];
for (const [what, greets, offend] of OFFENCES) {
  test(`a session that sends ${what} is cut at once, and its node may come back`, async (t) => {
    const agent = await enrollRaw(t, fleet());
    const session = await agent.connect({ greets });

    const offendedMs = performance.now();
    offend(session);
    const { code } = await session.closed;

    t.true([4008, 1009].includes(code), String(code));
    t.true(performance.now() - offendedMs < patient(CUT_MS_MAX), `${performance.now() - offendedMs} ms`);
    await t.notThrowsAsync(agent.connect());
  });
}

test('an agent that reports on an execution of another node changes nothing of it', async (t) => {
  const [agent] = fleet().agents;
  const command = await fleet().run('sleep 1000', { targeting: { type: 'nodes', node_ids: [agent?.node ?? ''] } });
  const [execution] = await fleet().settled(command, ([one]) => one?.status === 'sent');
  const thief = await enrollRaw(t, fleet());
  const id = execution?.id as never;

  const session = await thief.connect({ holding: [id] });
  session.send({ type: 'acknowledge', executions: [id] });
  session.send({ type: 'output-part', execution: id, part: 0, text: 'forged' });
  session.send({
    type: 'result',
    results: [
      { execution: id, outcome: 'completed', exit_code: 0, output: 'forged', parts: 0, output_truncated: false },
    ],
  });
  session.send({ type: 'tail-output', execution: id, offset: 0, text: 'forged', end: true });
  const confirmed = await session.frame('confirm');

  t.deepEqual(confirmed.executions, [id], 'it is told to forget what is not its own');
  t.like((await fleet().executionsOf(command))[0], { status: 'sent', output: null });
  await fleet().rest.post(`/commands/${command.id}/cancel`);
  t.like((await fleet().settled(command))[0], { status: 'cancelled', exit_code: 143 });
});

test('a result with text that no database takes is stored with replacements and confirmed', async (t) => {
  const agent = await enrollRaw(t, fleet());
  const session = await agent.connect();
  const command = await fleet().run('true', { targeting: { type: 'nodes', node_ids: [agent.node_id] } });
  const {
    deliveries: [delivery],
  } = await session.frame('deliver');

  session.send({
    type: 'result',
    results: [
      {
        execution: delivery?.execution as never,
        outcome: 'completed',
        exit_code: 0,
        output: 'a\u0000b\ud800c',
        parts: 0,
        output_truncated: false,
      },
    ],
  });
  await session.frame('confirm');

  const [stored] = await fleet().settled(command);
  t.is(stored?.status, 'completed');
  t.is(stored?.output, 'a\uFFFDb\uFFFDc');
});

const GARBAGE: Readonly<Record<string, string | Buffer>> = {
  'random bytes': randomBytes(4_096),
  'the start of TLS': Buffer.from('16030100c8010000c40303', 'hex'),
  'the start of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a request of an unknown method': 'BREW /api/v1/nodes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  'a request that is two':
    'POST /api/v1/commands HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/v1/nodes HTTP/1.1\r\nHost: x\r\n\r\n',
  'a header of 1 MiB': `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(1_048_576)}\r\n\r\n`,
  '10,000 headers': `GET /healthz HTTP/1.1\r\n${Array.from({ length: 10_000 }, (_, index) => `X${index}: x\r\n`).join('')}\r\n`,
  'a negative length': 'POST /api/v1/commands HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n',
  'an upgrade to nothing':
    'GET /api/v1/agents/session HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: nothing\r\nSec-WebSocket-Protocol: edge.session.v1\r\n\r\n',
  'an upgrade of an unknown path':
    'GET /nope HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  "an upgrade with somebody else's key": `GET /api/v1/agents/session HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${FLEET_KEYS.MASTER_KEY}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: edge.session.v1\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
};
for (const [what, bytes] of Object.entries(GARBAGE)) {
  test(`${what} on the port is answered with a refusal or nothing, and ends`, async (t) => {
    const answer = await exchange(t, bytes);

    t.true(answer === '' || /^HTTP\/1\.1 4\d\d /u.test(answer), answer.slice(0, 200));
    t.notRegex(answer, /^HTTP\/1\.1 (?:200|101)|\bat .*\.(?:ts|js):\d+/mu);
  });
}

/** All that the admin answers to bytes, until it or this side has nothing more to say. */
async function exchange(t: ExecutionContext, bytes: string | Buffer): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(fleet().admins[0]?.url ?? '').port) });
  t.teardown(() => {
    socket.destroy();
  });
  let answer = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    answer += text;
  });
  socket.on('error', () => {}); // reset by the admin
  socket.end(bytes);
  await new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
  });
  return answer;
}
