/** What tests ask of an exposition, and of what docs/metrics.md says of it. */
import { readFileSync } from 'node:fs';

const DOCUMENTATION = new URL('../../../docs/metrics.md', import.meta.url);

/** Samples by their whole name, such as `up{job="a"}`. */
export function seriesOf(exposition: string): Record<string, number> {
  const lines = exposition.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

/** Names and types of the families of an exposition, sorted. */
export function familiesOf(exposition: string): string[] {
  return [...exposition.matchAll(/^# TYPE (?<family>\S+ \S+)$/gmu)]
    .map(({ groups }) => groups?.['family'] ?? '')
    .toSorted();
}

/** The same, as the table of a section says. */
export function documentedMetrics(section: string): string[] {
  const text =
    readFileSync(DOCUMENTATION, 'utf8')
      .split(/^## /mu)
      .find((part) => part.startsWith(`${section}\n`)) ?? '';
  return [...text.matchAll(/^\| `(?<name>\w+)` \| (?<type>counter|gauge|histogram) \|/gmu)]
    .map(({ groups }) => `${groups?.['name']} ${groups?.['type']}`)
    .toSorted();
}
