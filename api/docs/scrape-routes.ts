/**
 * The routes that monitoring systems read, for the OpenAPI document: they are no operations, since what they answer is
 * no envelope.
 */
import { METRICS_SOURCES, type MetricsSource } from '../../actors/resources/node-metrics.ts';
import { API_PREFIX } from '../rest/routes.ts';
import { schemaOf, type JsonSchema } from '../schemas.ts';
import { DISCOVERY_INPUT } from '../scrape-targets.ts';

/** One GET without an envelope. */
export interface ScrapeRoute {
  readonly operationId: string;
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly pathFields: Readonly<Record<string, JsonSchema>>;
  readonly queryFields: Readonly<Record<string, JsonSchema>>;
  /** Content type of the answer, and what it is. */
  readonly type: string;
  readonly schema: JsonSchema;
}

const WHAT: Readonly<Record<MetricsSource, string>> = {
  host: "its machine, under node_exporter's names",
  agent: 'its agent',
  wireguard: 'its WireGuard interfaces',
};

const NODE_ID: JsonSchema = { type: 'string', format: 'uuid' };

const text: JsonSchema = { type: 'string', description: 'Prometheus text exposition format 0.0.4.' };

/** Entries of service discovery. Source: docs/metrics.md. */
const targets: JsonSchema = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      targets: { type: 'array', items: { type: 'string' } },
      labels: {
        type: 'object',
        properties: Object.fromEntries(
          [
            'node_id',
            'cluster',
            'status',
            'version',
            'name',
            'hostname',
            'os',
            'arch',
            'job',
            '__scheme__',
            '__metrics_path__',
          ].map((label) => [label, { type: 'string' }]),
        ),
        // one for each label of the node
        patternProperties: { '^label_[A-Za-z0-9_]+$': { type: 'string' } },
        required: ['node_id', 'cluster', 'status', 'version', 'name', 'job', '__metrics_path__'],
      },
    },
    required: ['targets', 'labels'],
  },
};

/** All of them. */
export const SCRAPE_ROUTES: readonly ScrapeRoute[] = [
  ...METRICS_SOURCES.map((source): ScrapeRoute => ({
    operationId: `scrape_${source}_metrics`,
    path: `${API_PREFIX}/nodes/{node_id}/metrics/${source}/raw`,
    tag: 'nodes',
    summary: `Scrape the metrics of a node: of ${WHAT[source]}. Takes METRICS_KEY.`,
    pathFields: { node_id: NODE_ID },
    queryFields: {},
    type: 'text/plain',
    schema: text,
  })),
  ...METRICS_SOURCES.map((source): ScrapeRoute => ({
    operationId: `discover_${source}_metrics`,
    path: `${API_PREFIX}/nodes/metrics/${source}/discovery`,
    tag: 'nodes',
    summary: `List all nodes that match, as targets for Prometheus' HTTP service discovery (${source}). Complete, without pages. Takes METRICS_KEY.`,
    pathFields: {},
    queryFields: filterSchemas(),
    type: 'application/json',
    schema: targets,
  })),
  {
    operationId: 'scrape_admin_metrics',
    path: `${API_PREFIX}/admins/me/metrics/raw`,
    tag: 'admins',
    summary: 'Scrape the metrics of the admin that answers. Takes METRICS_KEY.',
    pathFields: {},
    queryFields: {},
    type: 'text/plain',
    schema: text,
  },
];

function filterSchemas(): Readonly<Record<string, JsonSchema>> {
  return (schemaOf(DISCOVERY_INPUT, 'input').properties ?? {}) as Readonly<Record<string, JsonSchema>>;
}
