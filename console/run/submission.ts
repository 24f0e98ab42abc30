/** Stores a command once, however often its answer is lost. */
import { refusalOf } from '../../api/client/client.ts';
import type { Outputs } from '../../api/client/api.ts';
import type { NewCommand } from './form.ts';

/** How long it is tried, in ms, and how long is waited between two tries. */
export const SUBMISSION_MS_MAX = 60_000;
const AGAIN_MS = 1_000;

/** Refusals that pass by themselves. */
const PASSING: ReadonlySet<string> = new Set(['service_unavailable', 'rate_limited']);

type Command = Outputs['create_command'];

/** How it is stored. */
export interface SubmissionKit {
  readonly create: (input: NewCommand & { readonly idempotency_key: string }) => Promise<Command>;
  /** Told whenever no answer came. */
  readonly unanswered: () => void;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
}

/**
 * Answers what is stored. Each try shows the same key, so that one of which only the answer was lost is not done again.
 * Throws what the service refuses, and the last failure when the time is over.
 */
export async function submitted(command: NewCommand, key: string, kit: SubmissionKit): Promise<Command> {
  const endMs = kit.nowMs() + SUBMISSION_MS_MAX;
  for (;;) {
    try {
      return await kit.create({ ...command, idempotency_key: key });
    } catch (error) {
      const refusal = refusalOf(error);
      if ((refusal !== null && !PASSING.has(refusal.code)) || kit.nowMs() >= endMs) throw error;
      kit.unanswered();
      await kit.wait(AGAIN_MS);
    }
  }
}
