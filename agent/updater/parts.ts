/** What every step of an update works with. */
import type { Log } from '../../transport/net/log.ts';
import type { Layout } from './layout.ts';
import type { MirrorOptions } from './mirror.ts';
import type { RetryPolicy } from './mirror-retry.ts';
import type { AgentSilence } from './repair.ts';
import type { AgentService } from './service.ts';
import type { UpdaterConfig } from './settings.ts';
import type { Phase } from './state.ts';
import type { WatchTimes } from './watch.ts';

/** What the updater works with. */
export interface UpdaterParts {
  readonly config: UpdaterConfig;
  readonly layout: Layout;
  readonly service: AgentService;
  readonly options: MirrorOptions;
  readonly retries: RetryPolicy;
  readonly log: Log;
  readonly times: WatchTimes;
  readonly lookMs: number;
  /** Until an update that could not go on is taken up again, in ms. */
  readonly againMs: number;
  /** An agent that said nothing for so long is dead, in ms. */
  readonly deadMs: number;
  /** How long it has said nothing; where nobody counted so far, an update that waits for a mirror begins to. */
  readonly silence?: AgentSilence;
  /** Told each step that is stored, by who has the lock. */
  readonly stepped?: (step: Phase['step']) => void;
  /** Stops it where it is; what is stored is taken up by the next one. */
  readonly signal: AbortSignal;
  /** Unix ms. */
  readonly nowMs: () => number;
}
