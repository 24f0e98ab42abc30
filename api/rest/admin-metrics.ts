/**
 * Metrics of this admin as Prometheus reads them. Not in the catalogue: the answer is no JSON. Source: docs/api.md.
 */
import type { FastifyInstance } from 'fastify';
import { refuse } from '../../actors/refusal.ts';
import { nothing } from '../inputs/inputs.ts';
import { IN_WORDS } from '../inputs/issue-words.ts';
import type { AdminMetrics } from '../metrics/admin-metrics.ts';
import { EXPOSITION_TYPE } from '../metrics/registry.ts';
import { detailsOf } from '../inputs/parse.ts';
import type { Gate } from '../principals.ts';
import { sendRefusal } from './answers.ts';
import { callerOf } from './requests.ts';
import { API_PREFIX } from './routes.ts';

/** Where it is. */
export const ADMIN_METRICS_PATH = `${API_PREFIX}/admins/me/metrics/raw`;

/** Offers the raw route, to METRICS_KEY and MASTER_KEY. */
export function registerAdminMetrics(app: FastifyInstance, metrics: Pick<AdminMetrics, 'text'>, gate: Gate): void {
  app.get(ADMIN_METRICS_PATH, { exposeHeadRoute: false }, async (request, reply) => {
    const admitted = gate.admit('metrics', callerOf(request, 'rest'));
    if (!admitted.ok) return sendRefusal(reply, admitted.refusal);
    const query = nothing.safeParse(request.query, IN_WORDS);
    if (!query.success)
      return sendRefusal(
        reply,
        refuse('bad_request', 'This route takes no query parameters.', detailsOf(query.error.issues, nothing)).refusal,
      );
    return reply.header('content-type', EXPOSITION_TYPE).send(await metrics.text());
  });
}
