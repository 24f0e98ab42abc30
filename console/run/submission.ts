/** Stores a command once, however often its answer is lost, and however often it is sent then. */
import { refusalOf } from '../../api/client/client.ts';
import type { Outputs } from '../../api/client/api.ts';
import { IN_DOUBT_MS_MAX, whatOf } from '../creates.ts';
import { isNotSent } from '../failure.ts';
import type { MadeCommand, NewCommand } from './form.ts';

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

/** Commands in doubt whose keys are kept, the latest. */
const IN_DOUBT_MAX = 100;

/** A command of which it is not known what became of it. */
interface OpenSubmission {
  readonly input: NewCommand & { readonly idempotency_key: string };
  /** While it is sent. */
  underWay: Promise<Command> | null;
  sentAtMs: number;
  /** The last failure that leaves open whether it is stored; null: none does so far. */
  doubt: unknown;
  /** Of whoever sent it last. */
  unanswered: () => void;
}

/** Sends commands, each under a key of its own until it is known what became of it, whichever page sends it. */
export class Submissions {
  readonly #open = new Map<string, OpenSubmission>();

  /** Whether it may be stored although nobody said so. */
  isInDoubt({ command, expiresMs }: MadeCommand): boolean {
    return this.#open.has(whatOf(command, expiresMs));
  }

  /**
   * Answers what is stored. Each try shows the same key, so that one of which only the answer was lost is not done
   * again; so does the same command that is sent once more within `IN_DOUBT_MS_MAX`. While it is under way, it is the
   * same sending. Throws what the service refuses, and when the time is over the last failure: one that leaves open
   * whether it is stored, where there was any.
   */
  send({ command, expiresMs }: MadeCommand, newKey: () => string, kit: SubmissionKit): Promise<Command> {
    const what = whatOf(command, expiresMs);
    const sent: OpenSubmission = this.#known(what, kit.nowMs()) ?? {
      input: { ...command, idempotency_key: newKey() },
      underWay: null,
      sentAtMs: 0,
      doubt: null,
      unanswered: kit.unanswered,
    };
    sent.sentAtMs = kit.nowMs();
    sent.unanswered = kit.unanswered;
    this.#keep(what, sent);
    sent.underWay ??= this.#store(what, sent, kit).finally(() => (sent.underWay = null));
    return sent.underWay;
  }

  async #store(what: string, sent: OpenSubmission, kit: SubmissionKit): Promise<Command> {
    const endMs = kit.nowMs() + SUBMISSION_MS_MAX;
    for (;;) {
      try {
        const stored = await kit.create(sent.input);
        this.#open.delete(what);
        return stored;
      } catch (error) {
        const refusal = refusalOf(error);
        const isPassing = refusal === null || PASSING.has(refusal.code);
        const isOver = !isPassing || kit.nowMs() >= endMs;
        if (isPassing && !isNotSent(error)) sent.doubt = error;
        if (isOver && (!isPassing || sent.doubt === null)) this.#open.delete(what);
        if (isOver) throw isPassing ? (sent.doubt ?? error) : error;
        sent.unanswered();
        await kit.wait(AGAIN_MS);
      }
    }
  }

  #known(what: string, nowMs: number): OpenSubmission | undefined {
    const known = this.#open.get(what);
    return known?.underWay === null && nowMs - known.sentAtMs > IN_DOUBT_MS_MAX ? undefined : known;
  }

  #keep(what: string, sent: OpenSubmission): void {
    this.#open.delete(what);
    this.#open.set(what, sent);
    const [oldest] = this.#open.keys();
    if (this.#open.size > IN_DOUBT_MAX && oldest !== undefined) this.#open.delete(oldest);
  }
}
