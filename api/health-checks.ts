/** Subsystem checks of /healthz and check_admin_health: all at once, each with its own time limit. */
import type { SubsystemCheck } from './operation.ts';

/** How long one check may take, in ms. Source: spec.md, health routes. */
export const CHECK_MS_MAX = 5_000;

/** One subsystem: passes by resolving; rejects with a HealthProblem when it knows what is wrong. */
export interface HealthCheck {
  readonly name: string;
  readonly check: () => Promise<void>;
}

/** What is wrong with a subsystem, in one line that names no host, address or credential. */
export class HealthProblem extends Error {
  override readonly name = 'HealthProblem';
}

/** Runs them in parallel. Never rejects: what is not a HealthProblem is told as a failure without its cause. */
export function runChecks(checks: readonly HealthCheck[]): Promise<readonly SubsystemCheck[]> {
  return Promise.all(checks.map(run));
}

async function run({ name, check }: HealthCheck): Promise<SubsystemCheck> {
  const startedMs = performance.now();
  const error = await within(check()).then(() => null, (problem: unknown) => (problem instanceof HealthProblem ? problem.message : 'it does not answer as it should'));
  return { name, healthy: error === null, duration_ms: Math.round(performance.now() - startedMs), error };
}

async function within(work: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new HealthProblem(`it did not answer within ${CHECK_MS_MAX / 1_000} s`)), CHECK_MS_MAX);
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
