/** A report on a machine as text: a line a check, and under those that do not pass what to do. */
import { painted } from '../output/colours.ts';
import { plainText } from '../output/plain-text.ts';
import type { Tone } from '../table/columns.ts';
import { wrapped } from '../table/wrapping.ts';
import type { Diagnosis, DiagnosisCheck, DiagnosisStatus } from '../../transport/protocol/diagnosis.ts';

/** A check as it is told here. */
export type ToldCheck = Pick<DiagnosisCheck, 'name' | 'status' | 'summary' | 'hint' | 'details' | 'duration_ms'>;

const MARKS: Readonly<Record<DiagnosisStatus, string>> = { pass: 'pass', warn: 'WARN', fail: 'FAIL' };

const TONES = { pass: 'good', warn: 'warn', fail: 'bad' } as const satisfies Record<DiagnosisStatus, Tone>;

/** How it is told. */
export interface ReportTextOptions {
  /** Only for terminals. */
  readonly isColoured: boolean;
  /** Columns of the terminal; null: no line is broken. */
  readonly width: number | null;
  /** Leaves out what passes. */
  readonly onlyProblems?: boolean;
}

/** The whole report: its checks and what they come to. */
export function reportText(
  report: Pick<Diagnosis, 'overall' | 'collected_at'> & { readonly checks: readonly ToldCheck[] },
  options: ReportTextOptions,
): string {
  const { checks, overall, collected_at: at } = report;
  const count = (status: DiagnosisStatus): number => checks.filter((check) => check.status === status).length;
  const sum = `${count('pass')} passed, ${count('warn')} warned, ${count('fail')} failed, collected ${plainText(at)}`;
  return `${checksText(checks, options)}${mark(overall, options)}  ${sum}\n`;
}

/** The checks alone. */
export function checksText(checks: readonly ToldCheck[], options: ReportTextOptions): string {
  const shown = options.onlyProblems === true ? checks.filter(({ status }) => status !== 'pass') : checks;
  const names = Math.max(0, ...shown.map(({ name }) => name.length));
  const indent = names + 8;
  const below = (before: string, text: string): string =>
    `${' '.repeat(indent)}${before}${wrapped(text, { width: options.width, indent: indent + before.length })}\n`;
  return shown
    .map((check) => {
      const said = `${plainText(check.summary)} (${check.duration_ms} ms)`;
      const details = check.status === 'pass' ? '' : detailsText(check);
      return [
        `${mark(check.status, options)}  ${plainText(check.name).padEnd(names)}  ${wrapped(said, { width: options.width, indent })}\n`,
        check.hint === null ? '' : below('-> ', plainText(check.hint)),
        details === '' ? '' : below('', details),
      ].join('');
    })
    .join('');
}

function detailsText({ details }: ToldCheck): string {
  return Object.entries(details ?? {})
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${plainText(name)}=${plainText(String(value))}`)
    .join(' ');
}

function mark(status: DiagnosisStatus, { isColoured }: ReportTextOptions): string {
  return isColoured ? painted(MARKS[status], TONES[status]) : MARKS[status];
}
