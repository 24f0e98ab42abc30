/**
 * What monitoring systems read over HTTP (api/rest/node-metrics.ts, discovery.ts, admin-metrics.ts), for those who call
 * operations: the same, bounded.
 */
import { z } from 'zod';
import type { MetricsSource } from '../../actors/resources/node-metrics.ts';
import { ok } from '../../actors/refusal.ts';
import { expositionOf, ExpositionView } from '../exposition-text.ts';
import { NodeIdInput, nothing } from '../inputs/inputs.ts';
import { operation } from '../operation.ts';
import { DISCOVERY_INPUT, discoveryFilters, scrapedAdmin, targetOf, TargetView } from '../scrape-targets.ts';

/** Entries in one answer: some 20,000 tokens of a model. The discovery routes have no such bound. */
export const TARGETS_MAX = 200;

const TargetsView = z
  .object({
    targets: z.array(TargetView).describe(`Entries of Prometheus' HTTP service discovery, at most ${TARGETS_MAX}.`),
    truncated: z.boolean().describe('More nodes match: narrow the filters, or read the discovery route over HTTP.'),
  })
  .meta({ id: 'DiscoveredTargets', description: 'Nodes as targets of a Prometheus.' });

const ofNode = z.strictObject({ node_id: NodeIdInput });

export const scrape_host_metrics = scrapeOf(
  'host',
  'scrape_host_metrics',
  "Scrape the metrics of a node's machine as text, under node_exporter's names. Cut when long: get_host_metrics has the main ones.",
);
export const scrape_agent_metrics = scrapeOf(
  'agent',
  'scrape_agent_metrics',
  "Scrape the metrics of a node's agent as text. Cut when long: get_agent_metrics has the main ones.",
);
export const scrape_wireguard_metrics = scrapeOf(
  'wireguard',
  'scrape_wireguard_metrics',
  "Scrape the metrics of a node's WireGuard interfaces as text. Cut when long.",
);

export const scrape_admin_metrics = operation({
  name: 'scrape_admin_metrics',
  kind: 'query',
  scope: 'metrics',
  summary: 'Scrape the metrics of the admin that answers as text. Cut when long: get_admin_metrics has all.',
  rest: null,
  input: nothing,
  output: ExpositionView,
  handle: async (_input, { ports }) => ok(expositionOf(Buffer.from(await ports.adminMetrics.text()))),
});

export const discover_host_metrics = discoveryOf('host', 'discover_host_metrics');
export const discover_agent_metrics = discoveryOf('agent', 'discover_agent_metrics');
export const discover_wireguard_metrics = discoveryOf('wireguard', 'discover_wireguard_metrics');

function scrapeOf<const Name extends string>(source: MetricsSource, name: Name, summary: string) {
  return operation({
    name,
    kind: 'query',
    scope: 'metrics',
    summary,
    rest: null,
    hints: { destructive: false, idempotent: true, openWorld: true },
    input: ofNode,
    output: ExpositionView,
    handle: async ({ node_id }, { ports }) => {
      const scraped = await ports.nodeMetrics.raw(node_id, source);
      return scraped.ok ? ok(expositionOf(scraped.value.text)) : scraped;
    },
  });
}

function discoveryOf<const Name extends string>(source: MetricsSource, name: Name) {
  return operation({
    name,
    kind: 'query',
    scope: 'metrics',
    summary: `List matching nodes as targets for Prometheus (${source}): the first ${TARGETS_MAX}.`,
    rest: null,
    input: DISCOVERY_INPUT,
    output: TargetsView,
    handle: async (input, { ports: { discovery, settings } }) => {
      const admin = scrapedAdmin(settings.metricsBaseUrl ?? settings.adminUrls[0] ?? '');
      const lines: string[] = [];
      for await (const piece of discovery.pieces(discoveryFilters(input))) {
        // leaving the loop early returns the generator
        lines.push(...piece.split('\n').slice(0, -1));
        if (lines.length > TARGETS_MAX) break;
      }
      return ok({
        targets: lines.slice(0, TARGETS_MAX).map((line) => targetOf(line, source, admin)),
        truncated: lines.length > TARGETS_MAX,
      });
    },
  });
}
