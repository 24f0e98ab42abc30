/** Creates that are sent again: when, under which key, and what is told when nobody knows what came of them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { TRPCClientError } from '@trpc/client';
import test, { type ExecutionContext } from 'ava';
import { NOT_KNOWN } from '../../../../actors/refusal.ts';
import { ANSWER_LOST, problemOf } from '../../../../cli/problem.ts';
import { createsRetried } from '../../../../cli/service/retried-creates.ts';
import { origin } from '../../../support/net/listening.ts';

/** Far above what the tries here take, in a process that does much else, too. */
const TIMEOUT_MS = 60_000;

/** What a service does with one call. */
type Turn = (request: IncomingMessage, response: ServerResponse) => void;

const cut: Turn = (request) => request.socket.destroy();
const answer =
  (status: number, body: unknown): Turn =>
  (_request, response) =>
    response.writeHead(status).end(JSON.stringify(body));
const refusal = (status: number, code: string, message = 'No', retry_after_seconds = 0): Turn =>
  answer(status, { error: { message, code: -32_603, data: { code, retry_after_seconds } } });
const made = answer(200, { result: { data: { id: 'made' } } });
const page: Turn = (_request, response) => response.writeHead(504).end('<html>');
const away = refusal(503, 'service_unavailable');

/**
 * A service that does these in turn, the last of them for good. Its keys are those that it was called with, in order.
 */
async function serve(t: ExecutionContext, ...turns: readonly Turn[]) {
  const keys: (string | undefined)[] = [];
  const url = await origin(t, (request, response) => {
    const turn = turns[Math.min(keys.length, turns.length - 1)];
    keys.push(request.headers['idempotency-key'] as string | undefined);
    request.resume().on('end', () => turn?.(request, response));
  });
  const call = (operation = 'create_command', msMax = TIMEOUT_MS) =>
    createsRetried(
      `${url}/api/trpc/${operation}`,
      { method: 'POST', headers: { authorization: 'Bearer key' }, body: '{}' },
      { againMsMin: 1, triedMsMax: msMax },
    );
  const problem = (error: unknown) => problemOf(TRPCClientError.from(error as Error), { url, key: null }).message;
  return { url, keys, call, problem };
}

test('a create whose answer was lost, or that cannot be done just now, is sent again under its own key', async (t) => {
  const { keys, call } = await serve(t, cut, away, page, made);

  t.deepEqual(await (await call()).json(), { result: { data: { id: 'made' } } });
  await call('create_group');

  const [first, , , , other] = keys;
  t.regex(first ?? '', /^[\da-f-]{36}$/u);
  t.deepEqual(keys, [first, first, first, first, other]);
  t.not(other, first);
});

for (const wait of ['soon', {}, -1, 1e300])
  test(`a service that says to come back in ${JSON.stringify(wait)} s is asked no oftener for that`, async (t) => {
    const { keys, call } = await serve(t, refusal(503, 'service_unavailable', 'No', wait as number));

    const { status } = await call('create_command', 50);

    t.is(status, 503);
    t.true(keys.length < 10, `${keys.length}`); // waits of 1 ms, doubled
  });

test('what is decided, what never was sent, and what is no create is sent once', async (t) => {
  for (const turn of [refusal(409, 'conflict'), refusal(503, 'degraded_mode'), refusal(500, 'internal_error')]) {
    const { keys, call } = await serve(t, turn);
    t.false((await call()).ok);
    t.is(keys.length, 1);
  }
  const removal = await serve(t, cut);
  await t.throwsAsync(removal.call('delete_node'), { code: ANSWER_LOST });
  t.deepEqual(removal.keys, [undefined]);
  await t.throwsAsync(createsRetried('http://127.0.0.1:1/api/trpc/create_group', { method: 'POST' }), {
    code: 'ECONNREFUSED',
  });
});

test('a service that asks for a longer wait than there is time gets no other try', async (t) => {
  const { keys, call } = await serve(t, refusal(503, 'service_unavailable', 'No', 60));

  t.false((await call('create_command', 50_000)).ok);
  t.is(keys.length, 1);
});

test('a change whose answer is lost for good is said to be done, perhaps', async (t) => {
  const lost = (url: string) =>
    `${url} took the call, and its answer was lost: what was asked for may be done. Look before you ask again`;
  for (const turns of [[cut], [page], [cut, away], [refusal(503, 'service_unavailable', `${NOT_KNOWN}: x.`), away]]) {
    const { url, call, problem } = await serve(t, ...turns);
    t.is(problem(await t.throwsAsync(call('create_command', 100))), lost(url));
  }
  const { url, call, problem } = await serve(t, cut);
  t.is(problem(await t.throwsAsync(call('delete_node'))), lost(url));
});
