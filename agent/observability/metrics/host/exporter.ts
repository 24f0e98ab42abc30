/** One scrape of this machine: every collector asked, and what is told of the scrape itself. */
import { arch } from 'node:process';
import { Exposition } from '../../../../transport/net/exposition/exposition.ts';
import { boundLabels, type Collector } from './collector.ts';
import { createCollectors } from './collectors.ts';
import { HOST_ROOTS, HostFiles, type HostRoots } from './files.ts';

/**
 * Largest text of a scrape, in bytes: below the 4 MiB that an admin takes. A collector that does not fit counts as
 * failed.
 */
export const HOST_TEXT_BYTES_MAX = 3_145_728;

const MS_PER_SECOND = 1_000;

/** Go's names of what we run on, which node_exporter uses. */
const GO_ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64' };

/** What the exporter is made of. */
export interface ExporterOptions {
  /** The agent's version. */
  readonly version: string;
  /** Default: this machine's. */
  readonly roots?: HostRoots;
  /** Default: all. */
  readonly collectors?: readonly Collector[];
}

interface Outcome {
  readonly name: string;
  readonly seconds: number;
  readonly isGood: boolean;
  readonly leftOut: number;
}

/**
 * Makes the exporter: each call is a scrape, and nothing but mounts that hang is remembered from one to the next. Never
 * rejects: a collector that cannot read what it needs has `node_scrape_collector_success` 0 and no sample, never a
 * zero.
 */
export function createExporter({
  version,
  roots = HOST_ROOTS,
  collectors = createCollectors(),
}: ExporterOptions): () => Promise<string> {
  return async () => {
    const host = new HostFiles(roots);
    const outcomes: Outcome[] = [];
    const texts: string[] = [];
    let bytesLeft = HOST_TEXT_BYTES_MAX;
    for (const { name, collect } of collectors) {
      const began = performance.now();
      const leftOutBefore = host.leftOut;
      const text = await textOf(collect, host);
      const bytes = text === null ? 0 : Buffer.byteLength(text);
      const isGood = text !== null && bytes <= bytesLeft;
      if (isGood) {
        texts.push(text);
        bytesLeft -= bytes;
      }
      outcomes.push({
        name,
        seconds: (performance.now() - began) / MS_PER_SECOND,
        isGood,
        leftOut: host.leftOut - leftOutBefore,
      });
    }
    return texts.join('') + ownText(version, outcomes);
  };
}

/** Null: it failed. */
async function textOf(collect: Collector['collect'], host: HostFiles): Promise<string | null> {
  const out = new Exposition();
  try {
    await collect(out, host);
    return out.toString();
  } catch {
    return null; // not here, or not for this user: its success says so, and a log line each scrape would help nobody
  }
}

/** What is told of the scrape itself. */
function ownText(version: string, outcomes: readonly Outcome[]): string {
  const out = new Exposition();
  out
    .family(
      'node_exporter_build_info',
      'gauge',
      "A metric with a constant '1' value labeled by the version of the agent, which is the exporter.",
    )
    .sample(
      'node_exporter_build_info',
      1,
      boundLabels({
        branch: 'edge-agent',
        goarch: GO_ARCHITECTURES[arch] ?? arch,
        goos: 'linux',
        goversion: '',
        revision: '',
        version,
      }),
    );
  out.family('node_scrape_collector_duration_seconds', 'gauge', 'node_exporter: Duration of a collector scrape.');
  for (const { name, seconds } of outcomes)
    out.sample('node_scrape_collector_duration_seconds', seconds, `{collector="${name}"}`);
  out.family('node_scrape_collector_success', 'gauge', 'node_exporter: Whether a collector succeeded.');
  for (const { name, isGood } of outcomes)
    out.sample('node_scrape_collector_success', Number(isGood), `{collector="${name}"}`);
  const leaving = outcomes.filter(({ leftOut }) => leftOut > 0);
  if (leaving.length > 0)
    out.family(
      'edge_agent_host_devices_left_out',
      'gauge',
      'Devices beyond the limit of 512 a kind, which are not served.',
    );
  for (const { name, leftOut } of leaving)
    out.sample('edge_agent_host_devices_left_out', leftOut, `{collector="${name}"}`);
  return out.toString();
}
