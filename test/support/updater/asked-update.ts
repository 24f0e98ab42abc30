/** One update that somebody asks for on a machine with these settings, from its beginning or from where it stands. */
import type { Log } from '../../../transport/net/log.ts';
import { openUpdater } from '../../../agent/updater/open.ts';
import { UPDATER_SETTINGS } from '../../../agent/updater/settings.ts';
import type { State } from '../../../agent/updater/state.ts';
import { drive } from '../../../agent/updater/updater.ts';
import { readSettings } from '../../../settings/environment.ts';
import { TIMES } from './times.ts';

/** Resolves at its end. */
export function askedUpdate(env: Readonly<Record<string, string | undefined>>, log: Log): Promise<State> {
  const read = readSettings(UPDATER_SETTINGS, env);
  if (!read.ok) throw new Error(read.problems.join('; '));
  const parts = { ...openUpdater(read.settings, log, new AbortController().signal), times: TIMES, lookMs: 25 };
  const trigger = { by: 'request', request: 'again', force: false, asked_at: Date.now() } as const;
  return drive(parts, { type: 'asked', trigger });
}
