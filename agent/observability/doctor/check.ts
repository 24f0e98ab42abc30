/** Runs the checks of a report: several at once, each within its time, told in their order. */
import { overallOf } from '../../../transport/protocol/diagnosis.ts';
import type {
  Diagnosis,
  DiagnosisCheck,
  DiagnosisDetail,
  DiagnosisStatus,
} from '../../../transport/protocol/diagnosis.ts';

/** One check has this long, in ms. */
export const CHECK_MS_MAX = 3_000;

/** All of them together, in ms: what is not there by then is told so. An admin waits a little longer. */
export const DIAGNOSIS_MS_MAX = 9_000;

/** Checks that run at the same time. */
const AT_ONCE_MAX = 8;

/** What a check found. */
export interface Finding {
  readonly status: DiagnosisStatus;
  /** One sentence, free of addresses of the VPN, secrets, and credentials of URLs (R3, E4). */
  readonly summary: string;
  /** What to do; nothing when it passes. */
  readonly hint: string | null;
  readonly details: Readonly<Record<string, DiagnosisDetail>> | null;
}

/**
 * One check. It may throw: that is a finding too. It changes nothing, and stops when the signal is aborted, as far as
 * it can.
 */
export interface Check {
  readonly name: string;
  look(signal: AbortSignal): Finding | Promise<Finding>;
}

/** All is well. */
export function passed(summary: string, details: Finding['details'] = null): Finding {
  return { status: 'pass', summary, hint: null, details };
}

/** It works, and somebody should look at it. */
export function warned(summary: string, hint: string, details: Finding['details'] = null): Finding {
  return { status: 'warn', summary, hint, details };
}

/** It does not work. */
export function failed(summary: string, hint: string, details: Finding['details'] = null): Finding {
  return { status: 'fail', summary, hint, details };
}

/** How long checks may take; the constants unless a test has its own. */
export interface CheckLimits {
  readonly checkMsMax?: number;
  readonly totalMsMax?: number;
}

/** Runs them all. Never rejects, and resolves within `totalMsMax`. */
export async function diagnose(
  checks: readonly Check[],
  { checkMsMax = CHECK_MS_MAX, totalMsMax = DIAGNOSIS_MS_MAX }: CheckLimits = {},
): Promise<Diagnosis> {
  const collectedAt = new Date().toISOString();
  const endMs = performance.now() + totalMsMax;
  const found: DiagnosisCheck[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < checks.length; index = next++) {
      const check = checks[index];
      if (check !== undefined) found[index] = await timed(check, Math.min(checkMsMax, endMs - performance.now()));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, worker));
  return { overall: overallOf(found), collected_at: collectedAt, checks: found };
}

async function timed(check: Check, msMax: number): Promise<DiagnosisCheck> {
  const startedMs = performance.now();
  const finding =
    msMax <= 0
      ? failed('There was no time left for this check.', 'See the checks before it: they took too long.')
      : await within(check, msMax);
  return { name: check.name, ...finding, duration_ms: Math.round(performance.now() - startedMs) };
}

async function within(check: Check, msMax: number): Promise<Finding> {
  const late = Promise.withResolvers<Finding>();
  const limit = new AbortController();
  const timer = setTimeout(() => {
    late.resolve(
      failed(
        `This check had no answer within ${(msMax / 1_000).toFixed(1)} s.`,
        'Something that it asks hangs: look at the machine itself.',
      ),
    );
    limit.abort();
  }, msMax);
  try {
    return await Promise.race([looked(check, limit.signal), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The message of what was thrown is not told: nobody knows what is in it. */
async function looked(check: Check, signal: AbortSignal): Promise<Finding> {
  try {
    return await check.look(signal);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException | null)?.code;
    return failed(
      `This check itself failed${typeof code === 'string' && /^[A-Z0-9_]{2,40}$/u.test(code) ? `: ${code}` : ''}.`,
      'Report this as a fault of the agent, with its version and this report.',
    );
  }
}
