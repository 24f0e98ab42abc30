/** Metrics of nodes as their agents serve them, read through their tunnels: as text, and as records. */
import type { MetricsSource } from '../../actors/resources/node-metrics.ts';
import type { NodeMetrics, RawExposition } from '../../api/node-ports.ts';
import { ok, type Result } from '../../actors/refusal.ts';
import type { NodeId } from '../protocol/ids.ts';
import { AGENT_METRICS_PATH, EXPORTER_PATH } from '../protocol/agent-api.ts';
import { createSyntaxCheck } from '../net/exposition/syntax.ts';
import { samplesInTurns, type Samples } from '../net/exposition/samples.ts';
import type { AnswerJudge } from '../tunnels/answer-body.ts';
import { unanswered } from '../tunnels/agent-json.ts';
import type { AgentAnswer, AgentRequests } from '../tunnels/agent-requests.ts';
import { AGENT_FAMILIES, agentMetrics } from './agent-record.ts';
import { HOST_FAMILIES, hostMetrics } from './host-record.ts';
import { EXPOSITION_BYTES_MAX } from './limits.ts';

/** What became of a scrape: `ok`, or why it failed. */
export type ScrapeOutcome = 'ok' | Extract<AgentAnswer, { ok: false }>['failure'];

/** What scrapes need. */
export interface ScrapePorts {
  readonly requests: Pick<AgentRequests, 'get'>;
  /** METRICS_SCRAPE_TIMEOUT_MS. */
  readonly msMax: number;
  /** Told of every scrape, with how long it took in ms. */
  readonly scraped?: (source: MetricsSource, outcome: ScrapeOutcome, tookMs: number) => void;
}

const SOURCES = {
  host: { server: 'host_metrics', path: EXPORTER_PATH },
  wireguard: { server: 'wireguard_metrics', path: EXPORTER_PATH },
  agent: { server: 'api', path: AGENT_METRICS_PATH },
} as const;

/** Reads nodes. Of what they say nothing is kept between two scrapes. */
export function createScrapes({ requests, msMax, scraped }: ScrapePorts): NodeMetrics {
  async function raw(node: NodeId, source: MetricsSource, signal?: AbortSignal): Promise<Result<RawExposition>> {
    const beganMs = performance.now();
    const answer = await requests.get(node, {
      ...SOURCES[source],
      bytesMax: EXPOSITION_BYTES_MAX,
      msMax,
      acceptsGzip: true,
      signal,
      judge: expositionJudge(),
    });
    scraped?.(source, answer.ok ? 'ok' : answer.failure, performance.now() - beganMs);
    return answer.ok ? ok({ text: answer.body, gzip: answer.gzip }) : unanswered(answer);
  }

  async function read<Record>(
    node: NodeId,
    source: MetricsSource,
    families: ReadonlySet<string>,
    record: (samples: Samples) => Record,
  ): Promise<Result<Record>> {
    const scrape = await raw(node, source);
    return scrape.ok ? ok(record(await samplesInTurns(scrape.value.text.toString('utf8'), families))) : scrape;
  }

  return {
    raw,
    host: (node) => read(node, 'host', HOST_FAMILIES, hostMetrics),
    agent: (node) => read(node, 'agent', AGENT_FAMILIES, agentMetrics),
  };
}

/** `text/plain`, with the version of the format or without, in UTF-8. */
const TYPE = /^text\/plain(?:[ \t]*;[ \t]*(?:version="?0\.0\.4"?|charset="?utf-8"?|escaping=[\w-]+))*[ \t]*;?$/iu;

function expositionJudge(): AnswerJudge {
  const check = createSyntaxCheck();
  const sentence = (problem: string | null): string | null =>
    problem === null ? null : `The node answered with something that is no exposition: line ${problem}.`;
  return {
    type: (type) => (TYPE.test(type) ? null : 'The node answered with another type than text/plain; version=0.0.4.'),
    take: (piece) => sentence(check.take(piece)),
    end: () => sentence(check.end()),
  };
}
