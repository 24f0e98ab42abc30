/** From "what does the channel name" to a version on the disk that may be switched to. */
import { join } from 'node:path';
import { channelTarget, releaseTarget } from '../../transport/protocol/releases.ts';
import { systemProblem } from '../problem.ts';
import { mirrorUrls } from './admins.ts';
import { download } from './download.ts';
import { linkedName } from './durable.ts';
import { keptProblems, readHealth } from './health.ts';
import { restartDeadLocked } from './dead-agent.ts';
import { HEALTH_FILE } from './layout.ts';
import { NO_RETRIES, inTurn, type Waiting } from './mirror-retry.ts';
import { UpdateProblem } from './problem.ts';
import { machineArch, versionName, type Release } from './release.ts';
import { AgentSilence } from './repair.ts';
import { assertDiskSpace } from './disk-space.ts';
import { selfCheck } from './self-check.ts';
import { agentFile } from './settings.ts';
import type { OnDisk, State, Trigger, UpdaterEvent } from './state.ts';
import { ChangedProblem, downgradeProblem, refreshTrust, type Trusted } from './trust.ts';
import { markingProblem } from './updating-marker.ts';
import type { UpdaterParts } from './parts.ts';
import { isVersionWhole, linkedVersion, makeVersion, missingFiles } from './versions.ts';

/** What a mirror offers this machine. */
export interface Offer {
  readonly release: Release;
  /** The same signed metadata, at each place where files may be had. */
  readonly mirrors: readonly Trusted[];
}

/** What would be done, and why not. */
export interface Decision {
  readonly current: OnDisk | null;
  readonly to: OnDisk;
  /** Why nothing is to be done, and whether that is wrong. Null: there is something to install. */
  readonly left: { readonly reason: string; readonly isError: boolean } | null;
}

/**
 * Finds and prepares the release. Never rejects: what is wrong is what is told. `trigger`: the newest, as others may
 * ask while mirrors are waited for.
 */
export async function prepare(parts: UpdaterParts, state: State, trigger: () => Trigger): Promise<UpdaterEvent> {
  const from = linkedVersion(parts.layout, parts.layout.current);
  let to = '';
  try {
    const waiting = preparation(parts);
    const offer = await findOffer(parts, state.pinned, waiting);
    const { current, to: target, left } = await decide(parts, state, trigger(), offer.release);
    to = target.version;
    if (left !== null) return { type: 'left', from: from?.version ?? '', to, error: left.isError ? left.reason : null };
    parts.log.info({ from_version: current?.version ?? null, to_version: to }, 'A release is fetched');
    await fetchVersion(parts, offer, waiting);
    const { previous } = parts.layout;
    return {
      type: 'prepared',
      change: {
        wish: trigger(),
        from: current ?? target, // where nothing runs there is nothing to go back to
        to: target,
        before: linkedName(previous),
        problems: [...keptProblems(readHealth(agentFile(parts.config, HEALTH_FILE)))],
      },
    };
  } catch (error) {
    if (parts.signal.aborted) throw error;
    const reason =
      error instanceof UpdateProblem ? error.message : `the release could not be prepared: ${systemProblem(error)}`;
    return { type: 'left', from: from?.version ?? '', to, error: reason };
  }
}

/** How one who has the lock waits for mirrors, from now on: an agent that hangs meanwhile is helped. */
export function preparation(parts: UpdaterParts): Waiting {
  const nowMs = performance.now();
  const { signal, retries, silence = new AgentSilence(parts, nowMs) } = parts;
  return { signal, retries, untilMs: nowMs + retries.msMax, meanwhile: () => restartDeadLocked(parts, silence) };
}

/** How one who only looks does not wait. */
export function look({ signal }: Pick<UpdaterParts, 'signal'>): Waiting {
  return { signal, retries: NO_RETRIES, untilMs: performance.now(), meanwhile: () => Promise.resolve() };
}

/**
 * What the channel names, or the version that is pinned. To `keep` what was verified takes the lock; a `look` needs
 * none.
 */
export async function findOffer(
  parts: UpdaterParts,
  pinned: string | null,
  waiting: Waiting,
  purpose: 'keep' | 'look' = 'keep',
): Promise<Offer> {
  const urls = mirrorUrls(parts.config);
  const arch = machineArch();
  const path = pinned === null ? channelTarget(parts.config.UPDATER_CHANNEL, arch) : releaseTarget(pinned, arch);
  return inTurn(
    urls,
    async (url) => {
      const { trusted, release } = await offered(parts, waiting, url, path, purpose);
      const mirrors = [url, ...urls.filter((other) => other !== url)].map((mirror) => ({ ...trusted, mirror }));
      return { release, mirrors };
    },
    { ...waiting, log: parts.log },
  );
}

async function offered(
  { layout, options, nowMs }: UpdaterParts,
  waiting: Waiting,
  url: string,
  path: string,
  purpose: 'keep' | 'look',
): Promise<{ readonly trusted: Trusted; readonly release: Release }> {
  for (let tries = 1; ; tries += 1) {
    try {
      const trusted = await refreshTrust(layout.trust, url, { ...options, ...waiting }, nowMs(), purpose);
      const release = await trusted.release(path);
      if (release === null) throw new UpdateProblem(`${url} has no signed ${path}`);
      return { trusted, release };
    } catch (error) {
      if (!(error instanceof ChangedProblem) || tries > 1) throw error;
    }
  }
}

/** Whether this release is to be installed here. */
export async function decide(parts: UpdaterParts, state: State, trigger: Trigger, release: Release): Promise<Decision> {
  const { layout } = parts;
  const current = linkedVersion(layout, layout.current);
  const to = { name: versionName(release), version: release.version };
  const problem = (reason: string | null): Decision['left'] => (reason === null ? null : { reason, isError: true });
  const left = async (): Promise<Decision['left']> => {
    if (release.arch !== machineArch())
      return problem(`the release is for ${release.arch}, and this machine is ${machineArch()}`);
    if (current?.name === to.name && (await isVersionWhole(layout, to.name)))
      return { reason: `${to.version} is what runs`, isError: false };
    const older = downgradeProblem(current?.version ?? null, release);
    // A machine that is ahead of its channel has nothing to do; somebody wants a pinned version here.
    if (older !== null) return { reason: older, isError: state.pinned !== null };
    if (state.refused?.name === to.name && current?.name !== to.name && !trigger.force && trigger.by !== 'request')
      return problem(
        `${to.version} was taken back on ${new Date(state.refused.at).toISOString()}: ${state.refused.reason}. To try it again: edge-updater update --force`,
      );
    return problem(markingProblem(parts.config));
  };
  return { current, to, left: await left() };
}

/** Has the version on the disk, whole and checked. */
export async function fetchVersion(
  { config, layout, options, log }: UpdaterParts,
  { release, mirrors }: Offer,
  waiting: Waiting,
): Promise<string> {
  const missing = await missingFiles(layout, release);
  assertDiskSpace(layout, missing);
  const { downloads } = layout;
  for (const file of missing) await download(file, mirrors, { ...options, ...waiting, downloads, log });
  const name = await makeVersion(layout, release);
  await selfCheck(join(layout.versions, name), release.version, config);
  return name;
}
