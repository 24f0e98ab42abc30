/** Who brings something with the token of a node: the turns that they take, and give back. */
import { request as httpRequest } from 'node:http';
import test from 'ava';
import { ok } from '../../../../actors/refusal.ts';
import { DIAGNOSIS_PATH } from '../../../../transport/protocol/diagnosis.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { OWN_NODE_PATH, RECORDING_PATH } from '../../../../transport/protocol/version.ts';
import { serveApi, SOME_ID } from '../../../support/api/fakes.ts';

const ROUTES = [
  ['POST', DIAGNOSIS_PATH],
  ['PUT', RECORDING_PATH + SOME_ID],
  ['DELETE', OWN_NODE_PATH],
] as const;

for (const [method, path] of ROUTES) {
  test(`${method} ${path}: a client that is gone before its token was looked up keeps no turn`, async (t) => {
    const [asked, found] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const nodeByToken = async () => {
      asked.resolve();
      await found.promise;
      return { node: SOME_ID as NodeId, cluster: SOME_ID as never };
    };
    const { url, api, request } = await serveApi(t, {
      reads: { nodeByToken },
      ports: {
        nodeDiagnoses: {
          take: async () => ok(null),
          get: async () => {
            throw new Error('not asked');
          },
        },
      },
    });
    const closed = new Promise<void>((resolve) => {
      api.server.once('connection', (socket) => socket.once('close', () => resolve()));
    });
    const sent = httpRequest(url + path, {
      method,
      headers: { authorization: 'Bearer of-a-node', 'content-type': 'application/json' },
    });
    sent.on('error', () => {});
    sent.end('{}');
    await asked.promise;
    sent.destroy();
    await closed;
    found.resolve();

    const next = await request(method, path, { body: {}, headers: { authorization: 'Bearer of-a-node' } });

    t.not(next.status, 503, 'it is the same node: its turn is free');
  });
}
