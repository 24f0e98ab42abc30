/** What a case found, as a table for people or one JSON object a line for programs. */

/** One line of a result. `ratio` is the floor's time over ours: bigger is better; null where there is no floor. */
export interface Finding {
  readonly case: string;
  readonly side: string;
  readonly seconds: number;
  readonly ratio: number | null;
  /** `noisy`: the machine was too busy to judge. `missed` and `met` are against the targets of docs/performance.md. */
  readonly verdict: 'met' | 'missed' | 'noisy' | 'none';
  readonly [field: string]: string | number | boolean | null;
}

/** Writes findings as they come, or as one table at the end. */
export interface Report {
  add(finding: Finding): void;
  note(text: string): void;
  end(): void;
}

/** A report on standard output; notes go to standard error, so that `--json` prints nothing but data. */
export function createReport(json: boolean): Report {
  const findings: Finding[] = [];
  return {
    add(finding) {
      if (json)
        process.stdout.write(
          `${JSON.stringify(finding, (_key, value: unknown) => (typeof value === 'number' ? rounded(value) : value))}\n`,
        );
      else findings.push(finding);
    },
    note: (text) => void process.stderr.write(`${text}\n`),
    end() {
      if (!json && findings.length > 0) process.stdout.write(`${table(findings)}\n`);
    },
  };
}

/** Findings as text columns: a column for every field that any of them has. */
export function table(findings: readonly Finding[]): string {
  const columns = [...new Set(findings.flatMap((finding) => Object.keys(finding)))];
  const rows = [columns, ...findings.map((finding) => columns.map((column) => cell(finding[column])))];
  const widths = columns.map((_column, index) => Math.max(...rows.map((row) => (row[index] ?? '').length)));
  return rows.map((row) => row.map((text, index) => text.padStart(widths[index] ?? 0)).join('  ')).join('\n');
}

function cell(value: string | number | boolean | null | undefined): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'number' ? String(rounded(value)) : String(value);
}

/** Four significant digits below 1,000, whole numbers above. */
function rounded(value: number): number {
  if (!Number.isFinite(value)) return value;
  return Math.abs(value) >= 1_000 ? Math.round(value) : Number(value.toPrecision(4));
}
