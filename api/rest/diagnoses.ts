/** Where agents bring reports on their machines, so that there is a last one of those that go away. Not in the catalogue: the credential is the API token of a node. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DatabaseUnavailable } from '../../actors/kit/ports.ts';
import { refuse, UNAVAILABLE, type Refusal } from '../../actors/refusal.ts';
import { DIAGNOSIS_BYTES_MAX, DIAGNOSIS_PATH } from '../../transport/protocol/diagnosis.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import type { OperationPorts } from '../operation.ts';
import { createTally } from '../tally.ts';
import { sendRefusal } from './answers.ts';
import { bearerOf } from './requests.ts';

/** Reports that are taken at once, over all nodes; more are told to come again (L2). */
const REPORTS_MAX = 32;

/** When those should, in seconds. */
const RETRY_SECONDS = 5;

/** Reports that one node may bring in an hour: honest agents bring at most two. And nodes that are remembered for it. */
const NODE_REPORTS_PER_HOUR_MAX = 12;
const NODES_REMEMBERED_MAX = 20_000;
const HOUR_MS = 3_600_000;

const NO_TOKEN = refuse('unauthorized', 'This takes the API token of a node.').refusal;
const BUSY: Refusal = { code: 'service_unavailable', message: 'Other reports are being stored. Try again shortly.', retryAfterSeconds: RETRY_SECONDS };
const TOO_MANY = refuse('rate_limited', 'This node has brought as many reports as it may within an hour.').refusal;

/** Offers the route. */
export function offerDiagnoses(app: FastifyInstance, ports: Pick<OperationPorts, 'reads' | 'vault' | 'clock' | 'nodeDiagnoses'>): void {
  const bringing = new Map<FastifyRequest, NodeId>();
  const brought = createTally({ perWindowMax: NODE_REPORTS_PER_HOUR_MAX, windowMs: HOUR_MS, entriesMax: NODES_REMEMBERED_MAX }, ports.clock);

  /** Before the body is read: whoever may not, or not now, costs little. */
  async function admit(request: FastifyRequest): Promise<Refusal | null> {
    const token = bearerOf(request.headers.authorization);
    const found = token === null || token === '' ? null : await ports.reads.nodeByToken(ports.vault.sha256(token));
    if (found === null) return NO_TOKEN;
    const waitMs = brought.wait(found.node);
    if (waitMs > 0) return { ...TOO_MANY, retryAfterSeconds: Math.ceil(waitMs / 1_000) };
    if (bringing.size >= REPORTS_MAX || [...bringing.values()].includes(found.node)) return BUSY;
    bringing.set(request, found.node);
    brought.add(found.node, 1);
    return null;
  }

  app.route({
    method: 'POST',
    url: DIAGNOSIS_PATH,
    bodyLimit: DIAGNOSIS_BYTES_MAX,
    onRequest: async (request, reply) => {
      reply.raw.once('close', () => bringing.delete(request));
      const refusal = await admit(request).catch(unavailable);
      if (refusal !== null) await sendRefusal(reply, refusal);
    },
    handler: async (request, reply) => {
      const node = bringing.get(request);
      if (node === undefined) return sendRefusal(reply, NO_TOKEN);
      const taken = await ports.nodeDiagnoses.take(node, request.body).catch((error: unknown) => ({ ok: false as const, refusal: unavailable(error) }));
      return taken.ok ? reply.code(204).send() : sendRefusal(reply, taken.refusal);
    },
  });
}

function unavailable(error: unknown): Refusal {
  if (error instanceof DatabaseUnavailable) return UNAVAILABLE;
  throw error;
}
