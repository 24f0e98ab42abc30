/** Clients of a list of targets that do not take it. */
import { request, type ServerResponse } from 'node:http';
import test from 'ava';
import { written } from '../../../../api/rest/discovery.ts';
import { origin } from '../../../support/net/listening.ts';

test('a client that takes nothing in time is as one that is gone', async (t) => {
  const answer = Promise.withResolvers<ServerResponse>();
  const url = await origin(t, (_request, response) => answer.resolve(response));
  const client = request(url, (response) => response.pause());
  client.on('error', () => {}).end();
  const raw = await answer.promise;

  await t.notThrowsAsync(written(raw, Buffer.alloc(1_024), 10_000));
  await t.throwsAsync(written(raw, Buffer.alloc(33_554_432), 100), { message: 'the client is gone' });
  raw.destroy();
  await t.throwsAsync(written(raw, Buffer.alloc(1)), { message: 'the client is gone' });
});
