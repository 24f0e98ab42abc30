/**
 * Where agents bring reports on their machines, so that there is a last one of those that go away. Not in the
 * catalogue: the credential is the API token of a node.
 */
import type { FastifyInstance } from 'fastify';
import { refuse, type Refusal } from '../../actors/refusal.ts';
import { DIAGNOSIS_BYTES_MAX, DIAGNOSIS_PATH } from '../../transport/protocol/diagnosis.ts';
import type { OperationPorts } from '../ports.ts';
import { createWindowLimiter } from '../../transport/net/window-limiter.ts';
import { sendRefusal } from './answers.ts';
import { createNodeEntrance, NO_TOKEN, unavailable } from './node-entrance.ts';

/** Reports that are taken at once, over all nodes; more are told to come again (L2). */
const REPORTS_MAX = 32;

/** When those should, in seconds. */
const RETRY_SECONDS = 5;

/**
 * Reports that one node may bring in an hour: honest agents bring at most two. And nodes that are remembered for it.
 */
const NODE_REPORTS_PER_HOUR_MAX = 12;
const NODES_REMEMBERED_MAX = 20_000;
const HOUR_MS = 3_600_000;

const BUSY: Refusal = {
  code: 'service_unavailable',
  message: 'Other reports are being stored. Try again shortly.',
  retryAfterSeconds: RETRY_SECONDS,
};
const TOO_MANY = refuse('rate_limited', 'This node has brought as many reports as it may within an hour.').refusal;

/** Offers the route. */
export function registerDiagnoses(
  app: FastifyInstance,
  ports: Pick<OperationPorts, 'reads' | 'vault' | 'clock' | 'nodeDiagnoses'>,
): void {
  const reports = createWindowLimiter(
    { perWindowMax: NODE_REPORTS_PER_HOUR_MAX, windowMs: HOUR_MS, keysMax: NODES_REMEMBERED_MAX },
    ports.clock,
  );
  const entrance = createNodeEntrance(ports, {
    insideMax: REPORTS_MAX,
    busy: BUSY,
    wait: (node) => reports.waitMs(node),
    tooMuch: TOO_MANY,
  });

  app.route({
    method: 'POST',
    url: DIAGNOSIS_PATH,
    bodyLimit: DIAGNOSIS_BYTES_MAX,
    onRequest: async (request, reply) => {
      await entrance.admit(request, reply);
      const node = entrance.nodeOf(request);
      if (node !== null) reports.add(node, 1); // also one whose body is none
    },
    handler: async (request, reply) => {
      const node = entrance.nodeOf(request);
      if (node === null) return sendRefusal(reply, NO_TOKEN);
      const taken = await ports.nodeDiagnoses
        .take(node, request.body)
        .catch((error: unknown) => ({ ok: false as const, refusal: unavailable(error) }));
      return taken.ok ? reply.code(204).send() : sendRefusal(reply, taken.refusal);
    },
  });
}
