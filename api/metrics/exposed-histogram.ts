/** Histograms that were counted elsewhere, in the form in which prom-client writes metrics. */
import type { Histogram } from '../../transport/net/histogram.ts';
import type { Labels, Sample } from './family.ts';

/** A line of a metric, as prom-client writes it: `sharedLabels` of several lines are made text once. */
interface Line {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly sharedLabels: Labels;
  readonly value: number;
}

/** A metric of prom-client's that is filled instead of observed. It has what a registry asks of one. */
export class Exposed {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  #samples: readonly Sample<Histogram>[] = [];

  constructor(name: string, help: string) {
    this.name = name;
    this.help = help;
  }

  fill(samples: readonly Sample<Histogram>[]): void {
    this.#samples = samples;
  }

  reset(): void {
    this.#samples = [];
  }

  async get(): Promise<Pick<Exposed, 'name' | 'help' | 'type' | 'aggregator'> & { readonly values: readonly Line[] }> {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: this.#samples.flatMap((sample) => linesOf(name, sample)) };
  }
}

function linesOf(
  name: string,
  { labels: sharedLabels, value: { bounds, counts, sum, count } }: Sample<Histogram>,
): Line[] {
  let upTo = 0;
  const buckets = bounds.map((bound, index): Line => {
    upTo += counts[index] ?? 0;
    return { metricName: `${name}_bucket`, labels: { le: bound }, sharedLabels, value: upTo };
  });
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { le: '+Inf' }, sharedLabels, value: count },
    { metricName: `${name}_sum`, labels: NO_LABELS, sharedLabels, value: sum },
    { metricName: `${name}_count`, labels: NO_LABELS, sharedLabels, value: count },
  ];
}

const NO_LABELS = {};
