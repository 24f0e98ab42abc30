/** Limits as tables. */
import { LIMITS } from './limits.ts';

/** The tables of docs/limits.md, whose links are relative to docs/. */
export function limitsTables(): string {
  return Object.entries(LIMITS)
    .map(([theme, sources]) => {
      const rows = sources
        .flat()
        .map(
          ({ name, value, beyond, file }) =>
            `| \`${name}\` | ${withUnit(name, value)} | ${beyond} | [\`${file}\`](../${file}) |\n`,
        );
      return `### ${theme}\n\n| Limit | Value | What it bounds, and what happens | Where |\n|---|---|---|---|\n${rows.join('')}`;
    })
    .join('\n');
}

/** The unit is the end of the name. */
function withUnit(name: string, value: number): string {
  if (/_MS(?:_|$)|Ms(?:Max|Min)$/u.test(name)) return `${value / 1_000} s`;
  if (/BYTES/u.test(name)) return value % 1_048_576 === 0 ? `${value / 1_048_576} MiB` : `${value / 1_024} KiB`;
  return value.toLocaleString('en-US');
}
