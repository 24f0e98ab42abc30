/** Clients of a list of targets that do not take it. */
import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { written } from '../../../../api/rest/discovery.ts';

test('a client that takes nothing in time is as one that is gone', async (t) => {
  const answer = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => answer.resolve(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const client = request({ host: '127.0.0.1', port: (server.address() as AddressInfo).port }, (response) =>
    response.pause(),
  );
  client.on('error', () => {}).end();
  const raw = await answer.promise;

  await t.notThrowsAsync(written(raw, Buffer.alloc(1_024), 10_000));
  await t.throwsAsync(written(raw, Buffer.alloc(33_554_432), 100), { message: 'the client is gone' });
  raw.destroy();
  await t.throwsAsync(written(raw, Buffer.alloc(1)), { message: 'the client is gone' });
});
