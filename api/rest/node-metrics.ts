/**
 * Metrics of nodes as Prometheus reads them: packed as their agents packed them, where the client takes that. Not in
 * the catalogue: the answers are no JSON. Source: docs/metrics.md.
 */
import type { FastifyInstance } from 'fastify';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import { refuse, UNAVAILABLE, type Refusal } from '../../actors/refusal.ts';
import { acceptsEncoding } from '../../transport/net/accept-encoding.ts';
import { Uuid, type NodeId } from '../../transport/protocol/ids.ts';
import { nothing } from '../inputs/inputs.ts';
import { IN_WORDS } from '../inputs/issue-words.ts';
import type { OperationPorts } from '../ports.ts';
import { detailsOf } from '../inputs/parse.ts';
import type { Gate } from '../principals.ts';
import { sendRefusal } from './answers.ts';
import { callerOf } from './requests.ts';
import { API_PREFIX } from './routes.ts';
import { METRICS_SOURCES } from '../../actors/resources/node-metrics.ts';

/** Content type of an exposition. Source: Prometheus, exposition formats. */
const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const NO_UUID = refuse('bad_request', 'Malformed parameter', { node_id: ['must be a UUID'] }).refusal;

/**
 * Expositions that clients have not taken yet hold at most so many bytes, and those that are read from nodes just then.
 * Some two thousand of the usual size.
 */
const UNTAKEN_BYTES_MAX = 134_217_728;

const UNTAKEN: Refusal = {
  code: 'service_unavailable',
  message: 'Other clients are too slow to take what they asked for: try again shortly.',
  retryAfterSeconds: 1,
};

/** Offers the raw routes, to METRICS_KEY and MASTER_KEY. A client that goes away ends its scrape. */
export function registerNodeMetrics(
  app: FastifyInstance,
  { nodeMetrics }: Pick<OperationPorts, 'nodeMetrics'>,
  gate: Gate,
): void {
  let untakenBytes = 0;
  for (const source of METRICS_SOURCES) {
    app.get(
      `${API_PREFIX}/nodes/:node_id/metrics/${source}/raw`,
      { exposeHeadRoute: false },
      async (request, reply) => {
        const admitted = gate.admit('metrics', callerOf(request, 'rest'));
        if (!admitted.ok) return sendRefusal(reply, admitted.refusal);
        const query = nothing.safeParse(request.query, IN_WORDS);
        if (!query.success)
          return sendRefusal(
            reply,
            refuse('bad_request', 'This route takes no query parameters.', detailsOf(query.error.issues, nothing))
              .refusal,
          );
        const id = Uuid.safeParse((request.params as { readonly node_id?: unknown }).node_id);
        if (!id.success) return sendRefusal(reply, NO_UUID);
        if (untakenBytes >= UNTAKEN_BYTES_MAX) return sendRefusal(reply, UNTAKEN);
        const gone = new AbortController();
        const abort = (): void => gone.abort();
        reply.raw.once('close', abort);
        const scraped = await nodeMetrics.raw(id.data as NodeId, source, gone.signal).catch((error: unknown) => {
          if (error instanceof DatabaseUnavailable) return { ok: false as const, refusal: UNAVAILABLE };
          throw error;
        });
        reply.raw.off('close', abort); // every answer closes; to abort for nothing costs a tenth of a millisecond
        if (!scraped.ok) return sendRefusal(reply, scraped.refusal);
        const { text, gzip } = scraped.value;
        const isPacked = gzip !== null && acceptsEncoding(request.headers['accept-encoding'], 'gzip');
        const body = isPacked ? gzip : text;
        untakenBytes += body.length;
        const taken = (): void => {
          untakenBytes -= body.length;
        };
        if (reply.raw.closed) taken();
        else reply.raw.once('close', taken);
        if (isPacked) void reply.header('content-encoding', 'gzip');
        return reply.header('content-type', EXPOSITION_TYPE).header('vary', 'accept-encoding').send(body);
      },
    );
  }
}
