/** Which nodes there are to scrape, as Prometheus' HTTP service discovery reads it. Not in the catalogue: a bare array, streamed. Source: contract.md, 4, metrics discovery. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { LISTS, type Filter } from '../../actors/filters.ts';
import { METRICS_SOURCES, type DiscoveryPattern, type MetricsSource } from '../../actors/kit/ports.ts';
import { refuse } from '../../actors/refusal.ts';
import { parametersOf, parameterSchema } from '../list-input.ts';
import type { OperationPorts } from '../operation.ts';
import { detailsOf } from '../parse.ts';
import type { Gate } from '../principals.ts';
import { sendRefusal } from './answers.ts';
import { callerOf } from './requests.ts';
import { API_PREFIX } from './routes.ts';

/** Where the list of a source is. */
export function discoveryPath(source: MetricsSource): string {
  return `${API_PREFIX}/nodes/metrics/${source}/discovery`;
}

const PARAMETERS = parametersOf(LISTS.nodes.fields);

/** What may be asked for: the filters of list_nodes. There are no pages and no order. */
export const DISCOVERY_INPUT = z.strictObject(Object.fromEntries(PARAMETERS.map(({ name, field, op }) => [name, parameterSchema(field.kind, op).optional()])));

/** Offers the discovery routes, to METRICS_KEY and MASTER_KEY. */
export function offerDiscovery(app: FastifyInstance, { discovery, settings }: Pick<OperationPorts, 'discovery' | 'settings'>, gate: Gate): void {
  for (const source of METRICS_SOURCES) {
    app.get(discoveryPath(source), { exposeHeadRoute: false }, async (request, reply) => {
      const admitted = gate.admit('metrics', callerOf(request, 'rest'));
      if (!admitted.ok) return sendRefusal(reply, admitted.refusal);
      const parsed = DISCOVERY_INPUT.safeParse(request.query);
      if (!parsed.success) return sendRefusal(reply, refuse('bad_request', 'Malformed parameter', detailsOf(parsed.error.issues)).refusal);
      const given = parsed.data as Readonly<Record<string, Filter['value'] | undefined>>;
      const filters = PARAMETERS.flatMap(({ name, key, op }): Filter[] => given[name] === undefined ? [] : [{ field: key, op, value: given[name] }]);
      return sendTargets(reply, discovery.pages(filters, patternOf(settings.metricsBaseUrl ?? settings.adminUrls[0] ?? '', source)));
    });
  }
}

/**
 * The first page is read before anything is said, so that a database that is away is a 503. When it goes away later the connection
 * is cut: a list that ends early would make Prometheus forget nodes.
 */
async function sendTargets(reply: FastifyReply, pages: AsyncGenerator<string, void, void>): Promise<FastifyReply> {
  const first = await pages.next();
  const text = async function* (): AsyncGenerator<string> {
    yield '[';
    let separator = '';
    for (let page = first; page.done !== true; page = await pages.next()) {
      if (separator !== '') yield separator;
      yield page.value;
      separator = ',';
    }
    yield ']\n';
  };
  const list = Readable.from(text());
  // Not in a `finally` of the text: of a client that was gone before, nothing is read, so that it never begins, and never ends.
  list.once('close', () => void pages.return().catch(() => {})); // what failed was told to whoever read
  return reply.header('content-type', 'application/json; charset=utf-8').send(list);
}

/** How an entry is written. Where this admin is reached: a scheme other than http is a label of its own, and a path of its own is kept. */
function patternOf(baseUrl: string, source: MetricsSource): DiscoveryPattern {
  const { protocol, host, port, pathname } = new URL(baseUrl);
  const isHttps = protocol === 'https:';
  const address = port === '' ? `${host}:${isHttps ? 443 : 80}` : host;
  const raw = ['/nodes/', `/metrics/${source}/raw`].map((part, index) => JSON.stringify(index === 0 ? pathname.replace(/\/+$/u, '') + API_PREFIX + part : part));
  return [
    `{"targets":[${JSON.stringify(address)}],"labels":{"node_id":`, { column: 'id' }, ',"cluster":', { column: 'cluster_name' }, ',"status":', { column: 'status' }, ',"version":', { column: 'version' },
    `,"job":"edge-${source}",${isHttps ? '"__scheme__":"https",' : ''}"__metrics_path__":${raw[0]?.slice(0, -1)}`, { bare: 'id' }, `${raw[1]?.slice(1)}}}`,
  ];
}
