/**
 * Which nodes there are to scrape, as entries of Prometheus' HTTP service discovery. Source: docs/metrics.md.
 */
import { z } from 'zod';
import { LISTS, type Filter } from '../actors/filters.ts';
import type { MetricsSource } from '../actors/resources/node-metrics.ts';
import { parametersOf, parameterSchema } from './list-input.ts';
import { API_PREFIX } from './rest/routes.ts';

const PARAMETERS = parametersOf(LISTS.nodes.fields);

/** What may be asked for: the filters of list_nodes. There are no pages and no order. */
export const DISCOVERY_INPUT = z.strictObject(
  Object.fromEntries(PARAMETERS.map(({ name, field, op }) => [name, parameterSchema(field.kind, op).optional()])),
);

/** The filters of a parsed input. */
export function discoveryFilters(given: Readonly<Record<string, unknown>>): readonly Filter[] {
  return PARAMETERS.flatMap(({ name, key, op }): Filter[] =>
    given[name] === undefined ? [] : [{ field: key, op, value: given[name] as Filter['value'] }],
  );
}

/**
 * Where an admin is reached, as every entry says it: a scheme other than http is a label of its own, and a path of its
 * own is kept.
 */
export interface ScrapedAdmin {
  readonly address: string;
  readonly isHttps: boolean;
  /** What stands before the id of a node in its path. */
  readonly nodesPath: string;
}

/** By the URL under which monitoring systems reach it. */
export function scrapedAdmin(baseUrl: string): ScrapedAdmin {
  const { protocol, host, port, pathname } = new URL(baseUrl);
  const isHttps = protocol === 'https:';
  return {
    address: port === '' ? `${host}:${isHttps ? 443 : 80}` : host,
    isHttps,
    nodesPath: `${pathname.replace(/\/+$/u, '')}${API_PREFIX}/nodes/`,
  };
}

/** One entry. */
export const TargetView = z.object({ targets: z.array(z.string()), labels: z.record(z.string(), z.string()) });

/** The entry of a line of `Discovery.pieces`. What rest/discovery.ts writes as bytes; a test holds the two equal. */
export function targetOf(
  line: string,
  source: MetricsSource,
  { address, isHttps, nodesPath }: ScrapedAdmin,
): z.infer<typeof TargetView> {
  const [id = '', cluster = '""', status = '', version = '""'] = line.split('\t');
  return {
    targets: [address],
    labels: {
      node_id: id,
      cluster: String(JSON.parse(cluster)),
      status,
      version: String(JSON.parse(version)),
      job: `edge-${source}`,
      ...(isHttps && { __scheme__: 'https' }),
      __metrics_path__: `${nodesPath}${id}/metrics/${source}/raw`,
    },
  };
}
