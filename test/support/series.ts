/** Samples of an exposition by their whole name, such as `up{job="a"}`; for tests that look some up. */
export function seriesOf(exposition: string): Record<string, number> {
  const lines = exposition.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}
