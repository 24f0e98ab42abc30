/** What hostile clients and agents send: bodies, frames and bytes. Values of fields: support/api/hostile.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { FACTS } from '../../support/actors.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { enrollment, type RawSession } from '../../support/fleet/raw-agent.ts';

/** Levels of nesting that exhaust the stack of whatever walks them. */
const DEPTH = 200_000;

const deep = (open: string, close: string) =>
  `{"command_text":"true","targeting":${open.repeat(DEPTH)}${close.repeat(DEPTH)}}`;
/** Bodies of a create, and the statuses of which one refuses each. */
export const HOSTILE_BODIES = [
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
] as const;

const hello = (session: RawSession, more: object) =>
  session.sendRaw(JSON.stringify({ seq: 1, type: 'hello', ...more }));

/** What breaks the contract of a session: on a greeted one, or before the greeting. */
export const OFFENCES: readonly (readonly [string, boolean, (session: RawSession) => void])[] = [
  ['text that is no JSON', true, (session) => session.sendRaw('{{{')],
  ['an empty message', true, (session) => session.sendRaw('')],
  ['a binary message', true, (session) => session.sendRaw(randomBytes(64))],
  ['a frame of an unknown type', true, (session) => session.sendRaw('{"seq":2,"type":"format-disk"}')],
  ['a number that was skipped', true, (session) => session.sendRaw('{"seq":7,"type":"ping"}')],
  ['a number that was used', true, (session) => session.sendRaw('{"seq":1,"type":"ping"}')],
  ['no number', true, (session) => session.sendRaw('{"type":"ping"}')],
  [
    'facts of a machine that are none',
    true,
    (session) => session.sendRaw(JSON.stringify({ seq: 2, type: 'facts-changed', facts: { ...FACTS, cpu_count: -1 } })),
  ],
  [
    'a machine whose name is a book',
    true,
    (session) =>
      session.sendRaw(
        JSON.stringify({ seq: 2, type: 'facts-changed', facts: { ...FACTS, hostname: 'x'.repeat(900_000) } }),
      ),
  ],
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
/** What comes on the port and is no request that anybody answers well. */
export const GARBAGE: Readonly<Record<string, string | Buffer>> = {
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
