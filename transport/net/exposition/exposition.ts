/**
 * Metrics as text, in the format that Prometheus reads (0.0.4). Written by hand: a scrape of hundreds of samples must
 * cost nothing (docs/decisions/metrics.md).
 */

/** Content type of it. Source: Prometheus, exposition formats. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** What a family counts. */
export type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary' | 'untyped';

/** Names and values of labels; written in this order. */
export type Labels = Readonly<Record<string, string>>;

/** Families of samples, in the order in which they are added. */
export class Exposition {
  #text = '';

  /** Begins a family. All of its samples follow before the next one begins; a name comes once. */
  family(name: string, type: MetricType, help: string): this {
    const plain = /[\\\n]/u.test(help) ? help.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`) : help;
    this.#text += `# HELP ${name} ${plain}\n# TYPE ${name} ${type}\n`;
    return this;
  }

  /** One sample. `labels` may be rendered already (see `renderLabels`), for those that are the same at every scrape. */
  sample(name: string, value: number, labels: Labels | string = ''): this {
    this.#text += `${name}${typeof labels === 'string' ? labels : renderLabels(labels)} ${numberText(value)}\n`;
    return this;
  }

  /** A family of one sample without labels. Null: what is not known is left out, and is never zero. */
  single(name: string, type: MetricType, help: string, value: number | null): this {
    return value === null ? this : this.family(name, type, help).sample(name, value);
  }

  toString(): string {
    return this.#text;
  }
}

/** `{name="value",…}`; empty for none. */
export function renderLabels(labels: Labels): string {
  const pairs = Object.entries(labels);
  return pairs.length === 0 ? '' : `{${pairs.map(([name, value]) => `${name}="${escaped(value)}"`).join(',')}}`;
}

function escaped(value: string): string {
  return /[\\"\n]/u.test(value)
    ? value
        .replaceAll('\\', String.raw`\\`)
        .replaceAll('"', String.raw`\"`)
        .replaceAll('\n', String.raw`\n`)
    : value;
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
