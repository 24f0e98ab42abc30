/** What becomes of calls whose header is right. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { CALL_ROUTE, SEALED_TYPE } from '../../../../transport/admins/call-entrance.ts';
import { CALL_SLACK_BYTES, WRONG_PROOFS_PER_MINUTE_MAX } from '../../../../transport/admins/limits.ts';
import { decodeAnswer, encodeCall } from '../../../../transport/admins/protocol/call.ts';
import { CALL_PATH, PEER_HEADER, REACHED_HEADER } from '../../../../transport/admins/protocol/version.ts';
import { callOf, DONE, keysOf, linkedAdmins, noSignal } from '../../../support/linked-admins.ts';
import { until } from '../../../support/until.ts';
import { anybodys, plain, post, sentTo, written } from '../../../support/net/written-calls.ts';

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
  await until('the other side to read the call', () =>
    b.offering.some(({ headers, readableDidRead }) => headers[PEER_HEADER] === header.text && readableDidRead),
  );
  socket.destroy();

  t.deepEqual(await a.links.calls.call(b.id, callOf(), noSignal()), DONE);
  t.is(b.calls.length, 1);
});
