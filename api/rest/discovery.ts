/** Which nodes there are to scrape, as Prometheus' HTTP service discovery reads it. Not in the catalogue: a bare array, streamed. Source: contract.md, 4, metrics discovery. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { LISTS, type Filter } from '../../actors/filters.ts';
import { METRICS_SOURCES, type DiscoveredNode, type MetricsSource } from '../../actors/kit/ports.ts';
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
      return sendTargets(reply, discovery.nodes(filters), targetOf(settings.metricsBaseUrl ?? settings.adminUrls[0] ?? '', source));
    });
  }
}

/**
 * The first page is read before anything is said, so that a database that is away is a 503. When it goes away later the connection
 * is cut: a list that ends early would make Prometheus forget nodes.
 */
async function sendTargets(reply: FastifyReply, pages: AsyncGenerator<readonly DiscoveredNode[], void, void>, target: (node: DiscoveredNode) => string): Promise<FastifyReply> {
  const first = await pages.next();
  const text = async function* (): AsyncGenerator<string> {
    try {
      yield '[';
      let separator = '';
      for (let page = first; page.done !== true; page = await pages.next()) {
        yield separator + page.value.map(target).join(',');
        separator = ',';
      }
      yield ']\n';
    } finally {
      await pages.return();
    }
  };
  return reply.header('content-type', 'application/json; charset=utf-8').send(Readable.from(text()));
}

/** Writes one entry. Where this admin is reached: a scheme other than http is a label of its own, and a path of its own is kept. */
function targetOf(baseUrl: string, source: MetricsSource): (node: DiscoveredNode) => string {
  const { protocol, host, port, pathname } = new URL(baseUrl);
  const isHttps = protocol === 'https:';
  const address = port === '' ? `${host}:${isHttps ? 443 : 80}` : host;
  const before = `{"targets":[${JSON.stringify(address)}],"labels":{"node_id":"`;
  const after = `,"job":"edge-${source}",${isHttps ? '"__scheme__":"https",' : ''}"__metrics_path__":${JSON.stringify(`${pathname.replace(/\/+$/u, '')}${API_PREFIX}/nodes/`).slice(0, -1)}`;
  const end = `/metrics/${source}/raw"}}`;
  const words = new Map<string, string>();
  const worded = (word: string): string => { // names of clusters and versions are few, and come again and again
    const known = words.get(word);
    if (known !== undefined) return known;
    const text = JSON.stringify(word);
    if (words.size < WORDS_MAX) words.set(word, text);
    return text;
  };
  return ({ id, clusterName, status, version }) => `${before}${id}","cluster":${worded(clusterName)},"status":"${status}","version":${worded(version)}${after}${id}${end}`;
}

/** Words that are kept while one list is written. */
const WORDS_MAX = 10_000;
