/**
 * Which nodes there are to scrape, as entries of Prometheus' HTTP service discovery. Source: docs/metrics.md.
 */
import { z } from 'zod';
import { LISTS, type Filter } from '../actors/filters.ts';
import type { MetricsSource } from '../actors/resources/node-metrics.ts';
import { parametersOf, parameterSchema } from './inputs/list-input.ts';
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

/**
 * Labels of an entry that tell what a node is, by their names: `name`, `hostname`, `os` and `arch` as far as they are
 * known, and `label_<key>` for each label of the node, what Prometheus takes in no name replaced by `_`. Of keys that
 * come to the same name the first in alphabetical order is told. `facts` and `labels` are those of a line of
 * `Discovery.pieces`.
 */
export function describingLabels(name: string, facts: string, labels: string): Readonly<Record<string, string>> {
  const [hostname, os, arch] = JSON.parse(facts) as readonly (string | null)[];
  const told: Record<string, string> = {
    name: String(JSON.parse(name)),
    ...(hostname != null && { hostname }),
    ...(os != null && { os }),
    ...(arch != null && { arch }),
  };
  if (labels === NO_LABELS) return told;
  const keys = new Map<string, string>();
  for (const [key, value] of Object.entries(JSON.parse(labels) as Readonly<Record<string, string>>)) {
    const label = prometheusName(key);
    const other = keys.get(label);
    if (other !== undefined && other < key) continue;
    keys.set(label, key);
    told[label] = value;
  }
  return told;
}

/** As the database writes it. */
const NO_LABELS = '{}';

/** Source: Prometheus' data model, label names: [a-zA-Z_][a-zA-Z0-9_]*. */
function prometheusName(key: string): string {
  const known = NAMES.get(key);
  if (known !== undefined) return known;
  const name = `label_${key.replaceAll(/[^\dA-Za-z_]/gu, '_')}`;
  if (NAMES.size < NAMES_MAX) NAMES.set(key, name);
  return name;
}

/** Names that were made before: a list of a hundred thousand nodes has the same few keys in each. */
const NAMES = new Map<string, string>();
const NAMES_MAX = 1_024;

/** The entry of a line of `Discovery.pieces`. What rest/discovery.ts writes as bytes; a test holds the two equal. */
export function targetOf(
  line: string,
  source: MetricsSource,
  { address, isHttps, nodesPath }: ScrapedAdmin,
): z.infer<typeof TargetView> {
  const [id = '', cluster = '""', status = '', version = '""', name = '""', facts = '[]', labels = '{}'] =
    line.split('\t');
  return {
    targets: [address],
    labels: {
      node_id: id,
      cluster: String(JSON.parse(cluster)),
      status,
      version: String(JSON.parse(version)),
      ...describingLabels(name, facts, labels),
      job: `edge-${source}`,
      ...(isHttps && { __scheme__: 'https' }),
      __metrics_path__: `${nodesPath}${id}/metrics/${source}/raw`,
    },
  };
}
