/**
 * A report on a machine: ordered checks, each with a status, one sentence, a hint and what it took. Made by agents,
 * read by admins and people.
 */
import { z } from 'zod';
import { wireText } from './text.ts';

/** Where an agent brings a report to an admin, with the node's API token. */
export const DIAGNOSIS_PATH = '/api/v1/agents/diagnosis';

/** How a check ends, the worst last. Source: docs/diagnostics.md. */
export const DIAGNOSIS_STATUSES = ['pass', 'warn', 'fail'] as const;
/** One of them. */
export type DiagnosisStatus = (typeof DIAGNOSIS_STATUSES)[number];

/** Largest report as JSON, in bytes. An honest one takes some 8 KiB. */
export const DIAGNOSIS_BYTES_MAX = 65_536;

/** Checks of one report, details of one check, and characters of a sentence and of a detail. */
export const DIAGNOSIS_CHECKS_MAX = 48;
export const DIAGNOSIS_DETAILS_MAX = 32;
export const DIAGNOSIS_TEXT_CHARS_MAX = 512;
export const DIAGNOSIS_DETAIL_CHARS_MAX = 256;

/** Bounds of a number but zero in a detail, without its sign: file systems of some kinds tell of 2^64 free inodes. */
export const DIAGNOSIS_NUMBER_MIN = 1e-6;
export const DIAGNOSIS_NUMBER_MAX = 1e20;

/** A name of a check or a detail. */
const Name = wireText().regex(/^[a-z][a-z0-9_]{0,63}$/u, 'must be a lower-case name');

const Sentence = wireText().min(1).max(DIAGNOSIS_TEXT_CHARS_MAX);

/** A count, a size or a share. A database writes others, such as 1e300, with all of their digits. */
const Quantity = z
  .number()
  .refine(
    (value) => value === 0 || (Math.abs(value) >= DIAGNOSIS_NUMBER_MIN && Math.abs(value) <= DIAGNOSIS_NUMBER_MAX),
    'must be of a sensible size',
  );

/** What a detail may be. */
export const DiagnosisDetail = z.union([wireText().max(DIAGNOSIS_DETAIL_CHARS_MAX), Quantity, z.boolean(), z.null()]);
export type DiagnosisDetail = z.infer<typeof DiagnosisDetail>;

/** Small values by name. */
export const DiagnosisDetails = z
  .record(Name, DiagnosisDetail)
  .refine(
    (details) => Object.keys(details).length <= DIAGNOSIS_DETAILS_MAX,
    `must be at most ${DIAGNOSIS_DETAILS_MAX}`,
  );

/** One check. */
export const DiagnosisCheck = z.object({
  name: Name,
  status: z.enum(DIAGNOSIS_STATUSES),
  /** One sentence. */
  summary: Sentence,
  /** What to do; null when it passes. */
  hint: Sentence.nullable(),
  details: DiagnosisDetails.nullable(),
  duration_ms: z.int().min(0).max(600_000),
});
export type DiagnosisCheck = z.infer<typeof DiagnosisCheck>;

/** A whole report, in the order in which it is to be read. */
export const Diagnosis = z.object({
  overall: z.enum(DIAGNOSIS_STATUSES),
  /** By the clock of the machine that made it. */
  collected_at: z.iso.datetime(),
  checks: z
    .array(DiagnosisCheck)
    .min(1)
    .max(DIAGNOSIS_CHECKS_MAX)
    .refine((checks) => new Set(checks.map(({ name }) => name)).size === checks.length, 'must have different names'),
});
export type Diagnosis = z.infer<typeof Diagnosis>;

/** The worst of all. */
export function overallOf(checks: readonly Pick<DiagnosisCheck, 'status'>[]): DiagnosisStatus {
  return DIAGNOSIS_STATUSES.findLast((status) => checks.some((check) => check.status === status)) ?? 'pass';
}

/**
 * Control characters, invisible formatting such as changes of direction, and line ends: reports end up in terminals.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]+/gu;

/** A text that a terminal and a database take, on one line. */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll(UNPRINTABLE, ' ').trim();
}

/**
 * Checks with every text put through `edit`, and cut to what it may be long. Sentences that nothing is left of become a
 * dash.
 */
export function withTexts(
  checks: readonly DiagnosisCheck[],
  edit: (text: string) => string,
): readonly DiagnosisCheck[] {
  const edited = (text: string, charsMax: number): string => edit(text).slice(0, charsMax).toWellFormed();
  const sentence = (text: string): string => edited(text, DIAGNOSIS_TEXT_CHARS_MAX) || '-';
  return checks.map((check) => ({
    ...check,
    summary: sentence(check.summary),
    hint: check.hint === null ? null : sentence(check.hint),
    details:
      check.details === null
        ? null
        : Object.fromEntries(
            Object.entries(check.details).map(([name, value]) => [
              name,
              typeof value === 'string' ? edited(value, DIAGNOSIS_DETAIL_CHARS_MAX) : value,
            ]),
          ),
  }));
}
