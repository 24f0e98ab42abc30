/**
 * How subsystems are checked: all at once, each with its own time limit, and with nothing in the answer that a stranger
 * may not read.
 */
import { DatabaseUnavailable } from '../../actors/ports.ts';
import { kept } from '../../transport/net/kept.ts';
import type { SubsystemCheck } from '../views/health.ts';

/** How long one check may take, in ms. Source: docs/health.md. */
export const CHECK_MS_MAX = 5_000;

/**
 * One subsystem: passes by resolving; rejects with a HealthProblem when it knows what is wrong, and with DoesNotApply
 * where there is nothing to check.
 */
export interface HealthCheck {
  readonly name: string;
  readonly check: () => Promise<void>;
}

/** What is wrong with a subsystem, in one line that names no host, address or credential. */
export class HealthProblem extends Error {
  override readonly name = 'HealthProblem';
}

/** There is nothing to check: it passes and says so. */
export class DoesNotApply extends Error {
  override readonly name = 'DoesNotApply';
}

/** It works, and something worth knowing is otherwise than one would expect: it passes and says so. */
export class HealthNote extends Error {
  override readonly name = 'HealthNote';
}

/**
 * Checks as one call. Whoever asks while they run shares the run, so that nobody multiplies the work by asking more
 * often. Never rejects.
 */
export function sharedChecks(checks: readonly HealthCheck[]): () => Promise<readonly SubsystemCheck[]> {
  let running: Promise<readonly SubsystemCheck[]> | null = null;
  return () =>
    (running ??= runChecks(checks).finally(() => {
      running = null;
    }));
}

/** What pages and programs ask for over and over is so old at most, in ms: one run a second, however many ask. */
export const HEALTH_KEPT_MS = 1_000;

/** Checks as one call that runs them when they are older than HEALTH_KEPT_MS by this monotonic clock. Never rejects. */
export function recentChecks(
  run: () => Promise<readonly SubsystemCheck[]>,
  nowMs: () => number,
): () => Promise<readonly SubsystemCheck[]> {
  return kept(run, HEALTH_KEPT_MS, nowMs);
}

/**
 * Runs them in parallel. Never rejects: of what is neither a HealthProblem nor a database that is away nothing is told
 * but that it failed.
 */
export function runChecks(checks: readonly HealthCheck[]): Promise<readonly SubsystemCheck[]> {
  return Promise.all(checks.map(run));
}

/**
 * Tries a check so often, with a wait between two tries, in ms. The time limit of the check holds for all of them
 * together.
 */
export function retried(check: () => Promise<void>, triesMax: number, waitMs: number): () => Promise<void> {
  const attempt = async (triesLeft: number): Promise<void> => {
    try {
      await check();
    } catch (error) {
      if (triesLeft <= 1) throw error;
      await new Promise<void>((resolve) => {
        setTimeout(resolve, waitMs).unref();
      });
      await attempt(triesLeft - 1);
    }
  };
  return () => attempt(triesMax);
}

async function run({ name, check }: HealthCheck): Promise<SubsystemCheck> {
  const startedMs = performance.now();
  const result = (healthy: boolean, error: string | null): SubsystemCheck => ({
    name,
    healthy,
    duration_ms: Math.round(performance.now() - startedMs),
    error,
  });
  try {
    await within(check());
    return result(true, null);
  } catch (error) {
    if (error instanceof HealthNote) return result(true, error.message);
    if (error instanceof DoesNotApply) return result(true, `does not apply: ${error.message}`);
    return result(false, problemOf(error));
  }
}

function problemOf(error: unknown): string {
  if (error instanceof HealthProblem) return error.message;
  if (error instanceof DatabaseUnavailable) return 'the database does not answer';
  return 'it does not answer as it should';
}

async function within(work: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new HealthProblem(`it did not answer within ${CHECK_MS_MAX / 1_000} s`)),
    CHECK_MS_MAX,
  );
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
