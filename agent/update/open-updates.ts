/** Self-updates of this machine, as its settings want them. */
import type { Log } from '../../transport/net/log.ts';
import type { GivenConfig } from '../config.ts';
import type { DataDirectory } from '../data-directory.ts';
import { signalUpdate } from './signal.ts';
import { Updates, type UpdatesOptions } from './updates.ts';
import type { UpdaterPlace } from './updater-exchange.ts';

/** What it takes of the agent. */
export interface OpenUpdatesOptions extends Pick<UpdatesOptions, 'say' | 'version'> {
  readonly config: GivenConfig;
  readonly directory: Pick<DataDirectory, 'updates' | 'updating' | 'pin'>;
  readonly log: Log;
}

/** Asks nobody yet: see `Updates.begin`. */
export function openUpdates({ config, directory, version, say, log }: OpenUpdatesOptions): Updates {
  return new Updates({
    isEnabled: config.AGENT_SELF_UPDATE_ENABLED,
    place: updaterPlace(config),
    paths: directory,
    version,
    say,
    signalUpdate,
    wallMs: Date.now,
    log,
  });
}

/** Null: there is no token to ask with. */
export function updaterPlace({
  AGENT_UPDATER_URL: url,
  AGENT_UPDATER_TOKEN: token,
}: Pick<GivenConfig, 'AGENT_UPDATER_URL' | 'AGENT_UPDATER_TOKEN'>): UpdaterPlace | null {
  return token === undefined ? null : { url, token };
}
