/** Histograms that were counted elsewhere, in the form in which prom-client writes metrics. */
import type { MetricObjectWithValues, MetricValueWithName } from 'prom-client';
import type { Histogram } from '../../actors/kit/histogram.ts';
import type { Sample } from './families.ts';

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

  /** False: there is none. */
  fill(samples: readonly Sample<Histogram>[]): boolean {
    this.#samples = samples;
    return samples.length > 0;
  }

  reset(): void {
    this.#samples = [];
  }

  async get(): Promise<Omit<MetricObjectWithValues<MetricValueWithName<string>>, 'collect'>> {
    const { name, help, aggregator } = this;
    return { name, help, type: 'histogram' as never, aggregator, values: this.#samples.flatMap((sample) => linesOf(name, sample)) };
  }
}

function linesOf(name: string, { labels, value: { bounds, counts, sum, count } }: Sample<Histogram>): MetricValueWithName<string>[] {
  let upTo = 0;
  const buckets = bounds.map((bound, index) => {
    upTo += counts[index] ?? 0;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: bound }, value: upTo };
  });
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
