/** Many nodes are asked at once, and some of them never answer. */
import net, { type Socket } from 'node:net';
import test from 'ava';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { AgentRequests } from '../../../../transport/tunnels/agent-requests.ts';
import {
  AGENT_REQUEST_GIVES_WAY_MS,
  AGENT_REQUESTS_MAX,
  NODE_ANSWER_BYTES_AT_ONCE_MAX,
  NODE_REQUESTS_MAX,
} from '../../../../transport/tunnels/limits.ts';
import type { Tunnels } from '../../../../transport/tunnels/tunnels.ts';
import { until } from '../../../support/until.ts';
import { answer, portsOf } from '../metrics/fixture.ts';
import { target } from '../../../support/net/listening.ts';

const nodeId = (number: number) => `0190f5c2-7a11-4c3e-8f00-${String(number).padStart(12, '0')}` as NodeId;
const CROWDED = {
  ok: false,
  failure: 'overloaded',
  message: 'Too many nodes are asked at once: try again shortly.',
} as const;
const METRICS = { server: 'host_metrics', path: '/metrics', bytesMax: 1_000, msMax: 30_000 } as const;

test('hanging nodes do not block requests to other nodes: the longest request makes room, and no young one does', async (t) => {
  // Straight to the targets: 32 tunnels to one agent are more than it opens.
  const tunnels: Pick<Tunnels, 'reach'> = {
    reach: async (_node, { port }) => ({ ok: true, stream: net.connect(port, '127.0.0.1') }),
  };
  const hanging: Socket[] = [];
  const silent = await target(t, (socket) => {
    hanging.push(socket);
  });
  const honest = await target(t, (socket) => {
    socket.once('data', () => socket.end(answer('up 1\n')));
  });
  const last = nodeId(AGENT_REQUESTS_MAX);
  let nowMs = 0;
  const requests = new AgentRequests({
    tunnels,
    endpointOf: async (node) => ({ ports: portsOf(node === last ? honest : silent), tokenHash: Buffer.from('hash') }),
    nowMs: () => nowMs,
  });
  const stuck = Array.from({ length: AGENT_REQUESTS_MAX }, (_none, number) =>
    requests.get(nodeId(Math.floor(number / NODE_REQUESTS_MAX)), METRICS),
  );
  await until('all of them', () => hanging.length === AGENT_REQUESTS_MAX);

  const tooEarly = await requests.get(last, METRICS);
  nowMs = AGENT_REQUEST_GIVES_WAY_MS;
  const answered = await requests.get(last, METRICS);

  t.deepEqual(tooEarly, CROWDED);
  t.true(answered.ok);
  t.deepEqual(await stuck[0], CROWDED);
  t.is(requests.open, AGENT_REQUESTS_MAX - 1);
  for (const socket of hanging) socket.destroy();
  await Promise.all(stuck);
  t.is(requests.open, 0);
});

test('a node whose answers are large is asked until its share is used up, and others are not held up', async (t) => {
  const large = 1_048_576;
  const server = await target(t, (socket) => {
    socket.once('data', () => socket.end(answer('#'.repeat(large))));
  });
  const requests = new AgentRequests({
    tunnels: { reach: async (_node, { port }) => ({ ok: true, stream: net.connect(port, '127.0.0.1') }) },
    endpointOf: async () => ({ ports: portsOf(server), tokenHash: Buffer.from('hash') }),
    nowMs: () => 0,
  });
  const wanted = { ...METRICS, bytesMax: large };
  const answers = [];
  for (let count = 0; count < NODE_ANSWER_BYTES_AT_ONCE_MAX / large; count += 1)
    answers.push(await requests.get(nodeId(1), wanted));

  t.deepEqual(
    answers.map(({ ok }) => ok),
    answers.map((_, index) => index < answers.length - 1), // its headers took some of it
  );
  t.like(answers.at(-1), { failure: 'overloaded' });
  t.true((await requests.get(nodeId(2), wanted)).ok);
});
