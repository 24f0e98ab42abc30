/** The parts of an updater, of its settings. */
import { createOutbound } from '../outbound/outbound.ts';
import type { Log } from '../../transport/net/log.ts';
import { layoutOf } from './layout.ts';
import type { UpdaterParts } from './parts.ts';
import { UPDATE_RETRIES } from './mirror-retry.ts';
import { DEAD_MS } from './repair.ts';
import { AGAIN_MS } from './running-updates.ts';
import { createAgentService } from './service.ts';
import type { UpdaterConfig } from './settings.ts';
import { WATCH_TIMES } from './watch.ts';
import { LOOK_MS } from './watching.ts';

/** What every command of the updater begins with. */
export function openUpdater(config: UpdaterConfig, log: Log, signal: AbortSignal): UpdaterParts {
  const outbound = createOutbound(config);
  return {
    config,
    layout: layoutOf(config.UPDATER_DIR),
    service: createAgentService(config),
    options: { agentFor: (url) => outbound.agentFor(url) },
    retries: UPDATE_RETRIES,
    log,
    times: { ...WATCH_TIMES, wellMs: config.UPDATER_WELL_FOR, deadlineMs: config.UPDATER_DEADLINE },
    lookMs: LOOK_MS,
    againMs: AGAIN_MS,
    deadMs: DEAD_MS,
    signal,
    nowMs: () => Date.now(),
  };
}
