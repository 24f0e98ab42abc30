/** Who is asked for releases, and whether anybody of them can be reached. */
import { readFileSync } from 'node:fs';
import type { Agent } from 'node:http';
import { RELEASES_METADATA_PATH } from '../../transport/protocol/releases.ts';
import { IDENTITY_FILE } from '../data-directory.ts';
import { knownUrls } from '../enrollment/known-urls.ts';
import { readBytes, StatusProblem } from './mirror.ts';
import { UpdateProblem } from './problem.ts';
import { agentFile, isAllowed, type UpdaterConfig } from './settings.ts';

/** An admin answers whether it is ready within this, in ms. */
const READY_MS_MAX = 5_000;

/** Largest answer to that, in bytes. */
const READY_BYTES_MAX = 65_536;

/** Admins of the settings, then those that the agent dials: settings outlive the URL of an admin. */
export function adminUrls(config: UpdaterConfig): readonly string[] {
  return [...new Set([...(config.UPDATER_ADMIN_URLS ?? []), ...urlsOfAgent(config)])];
}

/** Where releases are looked for, in order. Throws an UpdateProblem where there is nobody. */
export function mirrorUrls(config: UpdaterConfig): readonly string[] {
  const urls = [...new Set([...(config.UPDATER_MIRRORS ?? []), ...adminUrls(config)])];
  if (urls.length > 0) return urls;
  throw new UpdateProblem('nobody is known who has releases: set UPDATER_ADMIN_URLS or UPDATER_MIRRORS');
}

/** Whether an admin is ready for agents; where no admin is known, whether a mirror answers. */
export async function isAnybodyReachable(
  config: UpdaterConfig,
  agentFor: (url: string) => Agent | false,
): Promise<boolean> {
  const admins = adminUrls(config).map((url) => `${url}/readyz`);
  const asked =
    admins.length > 0 ? admins : mirrorUrls(config).map((url) => `${url}${RELEASES_METADATA_PATH}timestamp.json`);
  const answers = asked.map(async (url) => {
    try {
      await readBytes(url, READY_BYTES_MAX, { agentFor, answerMsMax: READY_MS_MAX });
      return true;
    } catch (error) {
      // A server that has no such page is no admin, but it answered.
      return error instanceof StatusProblem && error.status === 404;
    }
  });
  return (await Promise.all(answers)).some(Boolean);
}

/** Admins that the agent was told last, and the one by which it got to one last. */
function urlsOfAgent(config: UpdaterConfig): readonly string[] {
  try {
    const identity = JSON.parse(readFileSync(agentFile(config, IDENTITY_FILE), 'utf8')) as {
      readonly enrollment?: { readonly admin_urls?: readonly unknown[] } | null;
      readonly reached_by?: unknown;
    };
    const listed = (identity.enrollment?.admin_urls ?? []).filter((url) => typeof url === 'string');
    const reachedBy = typeof identity.reached_by === 'string' ? identity.reached_by : undefined;
    return knownUrls(listed, reachedBy)
      .filter((url) => URL.canParse(url) && (config.UPDATER_ALLOW_HTTP || isAllowed(url)))
      .map((url) => url.replace(/\/+$/u, ''));
  } catch {
    return []; // not enrolled yet
  }
}
