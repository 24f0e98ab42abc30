/** Stores a command once, however often its answer is lost, and however often it is sent then. */
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

/** Sends commands, each under a key of its own until it is known what became of it. */
export class Submissions {
  /** One of which that is not known; null: there is none. */
  #open: { readonly what: string; readonly input: NewCommand & { readonly idempotency_key: string } } | null = null;

  /** Whether the last one may be stored although nobody said so. */
  get isInDoubt(): boolean {
    return this.#open !== null;
  }

  /**
   * Answers what is stored. Each try shows the same key, so that one of which only the answer was lost is not done again;
   * so does the same command that is sent once more when the time was over. Throws what the service refuses, and the last
   * failure when the time is over.
   */
  async send(command: NewCommand, newKey: () => string, kit: SubmissionKit): Promise<Command> {
    const what = JSON.stringify({ ...command, expired_at: undefined }); // which is another one a moment later
    const sent = this.#open?.what === what ? this.#open : { what, input: { ...command, idempotency_key: newKey() } };
    this.#open = sent;
    const endMs = kit.nowMs() + SUBMISSION_MS_MAX;
    for (;;) {
      try {
        const stored = await kit.create(sent.input);
        this.#open = null;
        return stored;
      } catch (error) {
        const refusal = refusalOf(error);
        const isPassing = refusal === null || PASSING.has(refusal.code);
        if (!isPassing) this.#open = null;
        if (!isPassing || kit.nowMs() >= endMs) throw error;
        kit.unanswered();
        await kit.wait(AGAIN_MS);
      }
    }
  }
}
