/** The floor of a scrape: the same metrics as text, with nothing between. */
import type { Histogram } from '../../transport/net/histogram.ts';
import type { Family, Labels, Readings, Sample } from '../../api/metrics/family.ts';

/** The exposition of these families, by hand. */
export function renderByHand(families: readonly Family[], readings: Readings): string {
  let text = '';
  for (const family of families) {
    const { name, help, type } = family;
    const lines =
      type === 'histogram'
        ? family.read(readings).map((sample) => histogram(name, sample))
        : family.read(readings).map(({ labels, value }) => `${name}${rendered(labels)} ${value}\n`);
    if (lines.length > 0) text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
  }
  return text;
}

function histogram(name: string, { labels, value: { bounds, counts, sum, count } }: Sample<Histogram>): string {
  const inner = pairs(labels);
  const before = inner === '' ? '' : `${inner},`;
  let text = '';
  let upTo = 0;
  for (const [index, bound] of bounds.entries()) {
    upTo += counts[index] ?? 0;
    text += `${name}_bucket{${before}le="${bound}"} ${upTo}\n`;
  }
  return `${text}${name}_bucket{${before}le="+Inf"} ${count}\n${name}_sum${rendered(labels)} ${sum}\n${name}_count${rendered(labels)} ${count}\n`;
}

function rendered(labels: Labels): string {
  const inner = pairs(labels);
  return inner === '' ? '' : `{${inner}}`;
}

function pairs(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',');
}
