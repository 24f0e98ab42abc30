/** Who gets in as another admin, and what everybody else is told. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { CALL_ROUTE, SEALED_TYPE } from '../../../../transport/admins/call-entrance.ts';
import { CALL_AGE_MS_MAX, CALL_SLACK_BYTES, WRONG_PROOFS_PER_MINUTE_MAX } from '../../../../transport/admins/limits.ts';
import type { ReceivedHeader } from '../../../../transport/admins/peer-header.ts';
import { decodeAnswer, encodeCall } from '../../../../transport/admins/protocol/call.ts';
import { CALL_PATH, PEER_HEADER, REACHED_HEADER } from '../../../../transport/admins/protocol/version.ts';
import { KEYS } from '../../../support/api/fakes.ts';
import {
  callOf,
  DONE,
  keysOf,
  linkedAdmins,
  noSignal,
  startLinked,
  type LinkedAdmin,
} from '../../../support/linked-admins.ts';

/** What came back, without what differs from request to request. */
interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

const OF_ONE_REQUEST = new Set(['date', 'x-request-id', 'traceparent', 'connection', 'keep-alive']);

async function post(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | null,
): Promise<Told> {
  const request = httpRequest(new URL(path, url), { method: 'POST', headers });
  if (body !== null) request.end(body);
  else request.flushHeaders();
  const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  if (body === null) request.destroy();
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(Object.entries(response.headers).filter(([name]) => !OF_ONE_REQUEST.has(name))),
    body: Buffer.concat(pieces),
  };
}

function sentTo(b: LinkedAdmin, header: string | undefined, body: Uint8Array): Promise<Told> {
  return post(
    b.served.url,
    CALL_PATH,
    { 'content-type': SEALED_TYPE, ...(header !== undefined && { [PEER_HEADER]: header }) },
    body,
  );
}

/** A whole call of a to b, by hand. */
function written(a: LinkedAdmin, b: LinkedAdmin, nowMs = Date.now()): { header: ReceivedHeader; body: Buffer } {
  const keys = keysOf(a);
  const header = keys.header(CALL_ROUTE, b.instanceId, nowMs);
  return { header, body: keys.sealCall(header, encodeCall(callOf())) };
}

/** The answer to a path that there is not, without the words of its one request. */
function plain({ status, headers, body }: Told): object {
  const { error } = JSON.parse(body.toString()) as { readonly error: unknown };
  return { status, error, headers: Object.keys(headers).toSorted() };
}

async function anybodys(b: LinkedAdmin): Promise<object> {
  return plain(await post(b.served.url, '/internal/v1/nothing', { 'content-type': SEALED_TYPE }, Buffer.from('x')));
}

test('a call that is written by hand gets in: what follows differs from it in one thing each', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const { header, body } = written(a, b);

  const told = await sentTo(b, header.text, body);

  t.is(told.status, 200);
  t.deepEqual(decodeAnswer(keysOf(a).openAnswer(header, told.body) ?? Buffer.alloc(0)), DONE);
  t.deepEqual(
    b.offered.filter(({ length }) => length === body.byteLength),
    [{ length: body.byteLength, isTaken: true, isRead: true }],
  );
});

const flipped = (text: string, at: number): string =>
  `${text.slice(0, at)}${text[at] === 'a' ? 'b' : 'a'}${text.slice(at + 1)}`;

/** A body that is told of and never sent. */
const UNSENT_BYTES = 123_456;

/** Each makes a header that is no proof. */
const WRONG: Readonly<Record<string, (a: LinkedAdmin, b: LinkedAdmin, strangers: LinkedAdmin) => string | undefined>> =
  {
    'no header': () => undefined,
    'an empty header': () => '',
    'an API key': () => KEYS.api,
    'the master key as a bearer': () => `Bearer ${KEYS.master}`,
    'another form': (a, b) => written(a, b).header.text.replace(/^1\./u, '2.'),
    'a changed proof': (a, b) => flipped(written(a, b).header.text, written(a, b).header.text.length - 5),
    'a proof that is too short': (a, b) => written(a, b).header.text.slice(0, -1),
    'a changed nonce': (a, b) => {
      const { header } = written(a, b);
      return flipped(header.text, header.unproven.length - 3);
    },
    'a changed time': (a, b) => {
      const { header } = written(a, b);
      return header.text.replace(String(header.said.sentAtMs), String(header.said.sentAtMs + 1));
    },
    'a changed target': (a, b) => written(a, b).header.text.replace(b.instanceId, randomUUID()),
    'a changed sender': (a, b) => written(a, b).header.text.replace(a.instanceId, randomUUID()),
    'another admin under the instance of one': (a, b) => written(a, b).header.text.replace(a.id, b.id),
    'the proof of another route': (a, b) => keysOf(a).header('POST /internal/v1/other', b.instanceId, Date.now()).text,
    'another key': (a, b) => keysOf(a, Buffer.alloc(32, 1)).header(CALL_ROUTE, b.instanceId, Date.now()).text,
    'an admin that is not alive': (_a, b, stranger) => written(stranger, b).header.text,
    'an instance from before a restart': (a, b) => written({ ...a, instanceId: randomUUID() }, b).header.text,
    'one that is too old': (a, b) => written(a, b, Date.now() - CALL_AGE_MS_MAX - 2_000).header.text,
    'one from ahead': (a, b) => written(a, b, Date.now() + CALL_AGE_MS_MAX + 2_000).header.text,
    itself: (_a, b) => written(b, b).header.text,
  };

for (const [what, make] of Object.entries(WRONG)) {
  test(`${what} finds no such route, as anybody does, and nothing of its body is read`, async (t) => {
    const { a, b } = await linkedAdmins(t);
    const stranger = await startLinked(t, 'c');
    const text = make(a, b, stranger);

    // No byte of the body is ever sent: whoever waited for one would not answer.
    const told = await post(
      b.served.url,
      CALL_PATH,
      {
        'content-type': SEALED_TYPE,
        'content-length': String(UNSENT_BYTES),
        ...(text !== undefined && text !== '' && { [PEER_HEADER]: text }),
      },
      null,
    );

    t.deepEqual(plain(told), await anybodys(b));
    t.like(plain(told), { status: 404 });
    t.deepEqual(
      b.offered.filter(({ length }) => length === UNSENT_BYTES),
      [{ length: UNSENT_BYTES, isTaken: false, isRead: false }],
    );
    t.deepEqual(b.calls, []);
  });
}

test('a call that is sent a second time finds no such route, and is not done again', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const { header, body } = written(a, b);
  await sentTo(b, header.text, body);

  const told = await sentTo(b, header.text, body);

  t.deepEqual(plain(told), await anybodys(b));
  t.is(b.calls.length, 1);
});

test('a body that was changed, cut or swapped under a right header is not read as a call', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const changes: readonly ((body: Buffer) => Buffer)[] = [
    (body) => Buffer.concat([body.subarray(0, 40), Buffer.from([(body[40] ?? 0) ^ 1]), body.subarray(41)]),
    (body) => body.subarray(0, -1),
    (body) => Buffer.concat([body, Buffer.from('x')]),
    () => Buffer.alloc(0),
    () => encodeCall(callOf()),
    () => written(a, b).body,
  ];

  for (const change of changes) {
    const { header, body } = written(a, b);
    t.deepEqual(plain(await sentTo(b, header.text, change(body))), await anybodys(b));
  }
  t.deepEqual(b.calls, []);
});

test('every other method finds no such route, with a proof too', async (t) => {
  const { a, b } = await linkedAdmins(t);

  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const { header } = written(a, b);
    const response = await fetch(new URL(CALL_PATH, b.served.url), { method, headers: { [PEER_HEADER]: header.text } });
    await response.arrayBuffer();
    t.is(response.status, 404, method);
    t.is(response.headers.get('allow'), null, method);
  }
});

test('a page of another site is refused as at every other path', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const { header, body } = written(a, b);

  const told = await post(
    b.served.url,
    CALL_PATH,
    { 'content-type': SEALED_TYPE, [PEER_HEADER]: header.text, origin: 'https://elsewhere.test' },
    body,
  );

  t.is(told.status, 403);
  t.deepEqual(b.calls, []);
});

test('who means another process is told so, and which admin it reached, but only with proof', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const keys = keysOf(a);

  const proven = await sentTo(b, keys.header(CALL_ROUTE, randomUUID(), Date.now()).text, Buffer.alloc(10));

  t.deepEqual([proven.status, proven.headers[REACHED_HEADER], proven.body.byteLength], [421, b.id, 0]);
});

test('a call that is longer than a client may send is refused by its length', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const lengths: Readonly<Record<number, number>> = {
    [1_048_576 + CALL_SLACK_BYTES]: 200,
    [1_048_576 + CALL_SLACK_BYTES + 1]: 413,
  };

  for (const [length, status] of Object.entries(lengths)) {
    const keys = keysOf(a);
    const header = keys.header(CALL_ROUTE, b.instanceId, Date.now());
    const call = encodeCall(callOf());
    const padded = Buffer.concat([call, Buffer.alloc(Number(length) - call.byteLength - 16, ' ')]);
    const told = await sentTo(b, header.text, keys.sealCall(header, padded));
    t.is(told.status, status);
  }
  t.is(b.calls.length, 1);
});

test('a call without a length is refused', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const { header } = written(a, b);

  const told = await post(
    b.served.url,
    CALL_PATH,
    { 'content-type': SEALED_TYPE, [PEER_HEADER]: header.text, 'transfer-encoding': 'chunked' },
    Buffer.alloc(10),
  );

  t.is(told.status, 413);
});

test('an address with many wrong proofs is named in the log once, and a right one still gets in from it', async (t) => {
  const { a, b } = await linkedAdmins(t);
  for (let count = 0; count <= WRONG_PROOFS_PER_MINUTE_MAX + 5; count += 1)
    await sentTo(b, keysOf(a, Buffer.alloc(32, 1)).header(CALL_ROUTE, b.instanceId, Date.now()).text, Buffer.alloc(1));

  const outcome = await a.links.calls.call(b.id, callOf(), noSignal());

  t.deepEqual(outcome, DONE);
  t.deepEqual(
    b.log.lines.filter(({ message }) => message.startsWith('somebody keeps calling')).map(({ fields }) => fields),
    [{ address: '127.0.0.1' }],
  );
});

test('a connection that breaks off in the middle of a call costs nothing', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const { header } = written(a, b);
  const socket = connect(Number(new URL(b.served.url).port), '127.0.0.1');
  await once(socket, 'connect');

  socket.write(
    `POST ${CALL_PATH} HTTP/1.1\r\nhost: b\r\n${PEER_HEADER}: ${header.text}\r\ncontent-length: 1000\r\n\r\n0123456789`,
  );
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
  socket.destroy();

  t.deepEqual(await a.links.calls.call(b.id, callOf(), noSignal()), DONE);
  t.is(b.calls.length, 1);
});

test('a thousand hostile requests: each finds no such route, none reaches the handler, and the admin goes on', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const random = seeded(20_261_123);

  const statuses: number[] = [];
  for (let round = 0; round < 50; round += 1)
    statuses.push(...(await Promise.all(Array.from({ length: 20 }, () => hostile(t, random, a, b)))));

  t.deepEqual([statuses.length, new Set(statuses)], [1_000, new Set([404])]);
  t.deepEqual(b.calls, []);
  t.deepEqual(await a.links.calls.call(b.id, callOf(), noSignal()), DONE);
});

/** Numbers below 1, always the same. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** One request that is not an admin's: a right one with a few characters changed, cut off, doubled, or made up. */
async function hostile(t: ExecutionContext, random: () => number, a: LinkedAdmin, b: LinkedAdmin): Promise<number> {
  const { header, body } = written(a, b);
  const pick = (max: number): number => Math.floor(random() * max);
  const visible = (): string => String.fromCodePoint(33 + pick(94));
  const made = [
    (): string => {
      const at = pick(header.text.length);
      const other = visible();
      return `${header.text.slice(0, at)}${other === header.text[at] ? '~' : other}${header.text.slice(at + 1)}`;
    },
    (): string => header.text.slice(0, 1 + pick(header.text.length - 1)),
    (): string => `${header.text}${visible()}`,
    (): string => `${header.text}, ${header.text}`,
    (): string => Array.from({ length: 1 + pick(400) }, visible).join(''),
    (): string => header.text.replaceAll(/\d/gu, () => String(pick(10))),
    (): string => `1.${randomUUID()}.${randomUUID()}.${randomUUID()}.${Date.now()}.${'A'.repeat(16)}.${'A'.repeat(22)}`,
  ][pick(7)]?.();
  const sent = [body, Buffer.alloc(pick(2_000), pick(256)), Buffer.from('{"call_id":1}')][pick(3)] ?? body;
  const told = await post(
    b.served.url,
    CALL_PATH,
    { [PEER_HEADER]: (made ?? '').trim() || 'x', 'content-type': ['application/json', SEALED_TYPE][pick(2)] ?? '' },
    sent,
  );
  t.true(told.headers[REACHED_HEADER] === undefined);
  return told.status;
}
