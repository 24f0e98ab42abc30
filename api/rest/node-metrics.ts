/** Metrics of nodes as Prometheus reads them. Not in the catalogue: the answers are no JSON. Source: spec.md, routes. */
import type { FastifyInstance } from 'fastify';
import { METRICS_SOURCES } from '../../actors/kit/ports.ts';
import { refuse, UNAVAILABLE } from '../../actors/refusal.ts';
import { DatabaseUnavailable } from '../../actors/kit/ports.ts';
import { Uuid, type NodeId } from '../../transport/protocol/ids.ts';
import type { OperationPorts } from '../operation.ts';
import type { Gate } from '../principals.ts';
import { sendRefusal } from './answers.ts';
import { callerOf } from './requests.ts';
import { API_PREFIX } from './routes.ts';

/** Content type of an exposition. Source: Prometheus, exposition formats. */
const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Offers the raw routes, to METRICS_KEY and MASTER_KEY. */
export function offerNodeMetrics(app: FastifyInstance, { nodeMetrics }: Pick<OperationPorts, 'nodeMetrics'>, gate: Gate): void {
  for (const source of METRICS_SOURCES) {
    app.get(`${API_PREFIX}/nodes/:node_id/metrics/${source}/raw`, async (request, reply) => {
      const admitted = gate.admit('metrics', callerOf(request, 'rest'));
      if (!admitted.ok) return sendRefusal(reply, admitted.refusal);
      const id = Uuid.safeParse((request.params as { readonly node_id?: unknown }).node_id);
      if (!id.success) return sendRefusal(reply, refuse('bad_request', 'The id of the node must be a UUID.').refusal);
      const scraped = await nodeMetrics.raw(id.data as NodeId, source).catch((error: unknown) => {
        if (error instanceof DatabaseUnavailable) return { ok: false as const, refusal: UNAVAILABLE };
        throw error;
      });
      return scraped.ok ? reply.header('content-type', EXPOSITION_TYPE).send(Buffer.concat(scraped.value)) : sendRefusal(reply, scraped.refusal);
    });
  }
}
