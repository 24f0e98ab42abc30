/** What one connection decides by itself. */
import test from 'ava';
import type { WebSocket } from 'ws';
import { Connection } from '../../../../transport/sessions/connection.ts';
import { BYTES_BURST_MAX, BYTES_PER_SECOND_MAX } from '../../../../transport/sessions/limits.ts';
import { NodeQuota } from '../../../../transport/sessions/node-quotas.ts';
import { session } from '../../../support/actors.ts';
import { GATED } from './fixture.ts';

test('a socket that is paused for two reasons is read again when both are gone', (t) => {
  const calls: string[] = [];
  const socket = { pause: () => calls.push('pause'), resume: () => calls.push('resume') } as unknown as WebSocket;
  const connection = new Connection(
    session(1),
    { node: GATED.node, cluster: GATED.cluster, socket, quota: new NodeQuota(0), via: null },
    0,
  );

  connection.pause('rate');
  connection.pause('unstored');
  connection.resume('rate');
  t.true(connection.isPaused);
  connection.resume('unstored');

  t.false(connection.isPaused);
  t.deepEqual(calls, ['pause', 'pause', 'resume']);
});

test('a share of bytes is used up, and comes back with time', (t) => {
  const connection = new Connection(
    session(1),
    { node: GATED.node, cluster: GATED.cluster, socket: {} as WebSocket, quota: new NodeQuota(0), via: null },
    0,
  );

  t.deepEqual(
    [
      connection.spend(BYTES_BURST_MAX, 0),
      connection.spend(BYTES_PER_SECOND_MAX / 2, 0),
      connection.spend(0, 250),
      connection.spend(0, 500),
    ],
    [0, 500, 250, 0],
  );
});
