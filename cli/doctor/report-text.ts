/** A report on a machine as text: a line a check, and under those that do not pass what to do. */
import { painted } from '../colours.ts';
import { plainText } from '../plain-text.ts';
import type { Tone } from '../table/columns.ts';
import type { Diagnosis, DiagnosisCheck, DiagnosisStatus } from '../../transport/protocol/diagnosis.ts';

/** A check as it is told here. */
export type ToldCheck = Pick<DiagnosisCheck, 'name' | 'status' | 'summary' | 'hint' | 'details' | 'duration_ms'>;

const MARKS: Readonly<Record<DiagnosisStatus, string>> = { pass: 'pass', warn: 'WARN', fail: 'FAIL' };

const TONES = { pass: 'good', warn: 'warn', fail: 'bad' } as const satisfies Record<DiagnosisStatus, Tone>;

/** How it is told. */
export interface ReportTextOptions {
  /** Only for terminals. */
  readonly isColoured: boolean;
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
  const width = Math.max(0, ...shown.map(({ name }) => name.length));
  const indent = ' '.repeat(width + 8);
  return shown
    .map((check) => {
      const hint = check.hint === null ? '' : `${indent}-> ${plainText(check.hint)}\n`;
      const details = check.status === 'pass' ? '' : detailLines(check, indent);
      return `${mark(check.status, options)}  ${plainText(check.name).padEnd(width)}  ${plainText(check.summary)} (${check.duration_ms} ms)\n${hint}${details}`;
    })
    .join('');
}

function detailLines({ details }: ToldCheck, indent: string): string {
  const told = Object.entries(details ?? {}).filter(([, value]) => value !== null);
  return told.length === 0
    ? ''
    : `${indent}${told.map(([name, value]) => `${plainText(name)}=${plainText(String(value))}`).join(' ')}\n`;
}

function mark(status: DiagnosisStatus, { isColoured }: ReportTextOptions): string {
  return isColoured ? painted(MARKS[status], TONES[status]) : MARKS[status];
}
