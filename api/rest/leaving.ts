/**
 * Where machines that leave take their own nodes away (`edge-agent leave`). Not in the catalogue: the credential is the
 * API token of a node, and it opens this one node.
 */
import type { FastifyInstance } from 'fastify';
import { refuse, type Refusal } from '../../actors/refusal.ts';
import { createWindowLimiter } from '../../transport/net/window-limiter.ts';
import { OWN_NODE_PATH } from '../../transport/protocol/version.ts';
import type { Forwarding } from '../forwarding/forwarding.ts';
import type { OperationPorts } from '../ports.ts';
import { sendRefusal } from './answers.ts';
import { createNodeEntrance, NO_TOKEN, unavailable } from './node-entrance.ts';

/** Machines that leave at once; more are told to come again (L2). */
const LEAVING_MAX = 32;

/** When those should, in seconds. */
const RETRY_SECONDS = 1;

/**
 * Tries of one node in a minute: one is enough, unless the service cannot do it. And nodes that are remembered for it.
 */
const NODE_TRIES_PER_MINUTE_MAX = 12;
const NODES_REMEMBERED_MAX = 20_000;
const MINUTE_MS = 60_000;

const BUSY: Refusal = {
  code: 'service_unavailable',
  message: 'Other machines are leaving. Try again shortly.',
  retryAfterSeconds: RETRY_SECONDS,
};
const TOO_MANY = refuse('rate_limited', 'This node has tried to leave too often within a minute.').refusal;

/** Offers the route. */
export function registerLeaving(
  app: FastifyInstance,
  ports: Pick<OperationPorts, 'ask' | 'reads' | 'vault' | 'clock'>,
  forwarding: Pick<Forwarding, 'deadline' | 'perform'>,
): void {
  const tries = createWindowLimiter(
    { perWindowMax: NODE_TRIES_PER_MINUTE_MAX, windowMs: MINUTE_MS, keysMax: NODES_REMEMBERED_MAX },
    ports.clock,
  );
  const entrance = createNodeEntrance(ports, {
    insideMax: LEAVING_MAX,
    busy: BUSY,
    wait: (node) => tries.waitMs(node),
    tooMuch: TOO_MANY,
  });

  app.route({
    method: 'DELETE',
    url: OWN_NODE_PATH,
    onRequest: async (request, reply) => {
      await entrance.admit(request, reply);
      const node = entrance.nodeOf(request);
      if (node !== null) tries.add(node, 1);
    },
    handler: async (request, reply) => {
      const node = entrance.nodeOf(request);
      if (node === null) return sendRefusal(reply, NO_TOKEN);
      const removed = await forwarding
        .perform<null>({
          operation: 'delete_node',
          input: { id: node },
          afterLoss: 'missing',
          idempotency: null,
          principal: 'node',
          surface: 'agent',
          requestId: request.id,
          trace: null,
          deadline: forwarding.deadline(),
          ownedBy: () => ({ kind: 'node', id: node }),
          handle: () =>
            ports.ask<null>((replyTo) => ({ to: { kind: 'node', id: node }, message: { type: 'delete', replyTo } })),
        })
        .catch((error: unknown) => ({ ok: false as const, refusal: unavailable(error) }));
      return removed.ok ? reply.code(204).send() : sendRefusal(reply, removed.refusal);
    },
  });
}
