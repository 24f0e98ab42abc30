/** What people and installers ask of the updater, besides to serve. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemProblem } from '../problem.ts';
import { linkedName, replaceLink } from './durable.ts';
import { takeLock } from './lock.ts';
import type { UpdaterParts } from './parts.ts';
import { fetchVersion, findOffer, preparation } from './prepare.ts';
import { keptProblems, readHealth } from './health.ts';
import { HEALTH_FILE, type Layout } from './layout.ts';
import { UpdateProblem } from './problem.ts';
import { agentFile } from './settings.ts';
import type { Outcome, State, Switch, Trigger, UpdaterEvent } from './state.ts';
import { readState, writeState } from './state-file.ts';
import { tokenAt } from './token.ts';
import { refusing, transition } from './transition.ts';
import { trustRoot } from './trust.ts';
import { drive, follow, isUntouched, stateOf, takenUp, withNothingLeft } from './updater.ts';
import { isVersionWhole, linkedVersion } from './versions.ts';

/**
 * Lays out the first version: trust, files, links, token. Starts nothing. Done again it changes nothing but what is
 * missing. Answers the version.
 */
export async function bootstrap(parts: UpdaterParts, rootFile: string | null): Promise<string> {
  const { config, layout, log } = parts;
  mkdirSync(layout.directory, { recursive: true, mode: 0o755 });
  const lock = takeLock(layout.lock, layout.lockHolder, parts.nowMs());
  try {
    if (rootFile !== null) {
      const kept = trustRoot(layout.trust, readRoot(rootFile));
      if (kept === 'kept') log.info({}, 'This machine trusts a root already, which stays');
    }
    tokenAt(layout.token, config.UPDATER_TOKEN);
    const current = linkedVersion(layout, layout.current);
    if (current !== null && (await isVersionWhole(layout, current.name))) return current.version;
    const waiting = preparation(parts);
    const offer = await findOffer(parts, stateOf(parts).pinned, waiting);
    const name = await fetchVersion(parts, offer, waiting);
    if (linkedName(layout.previous) === null) replaceLink(layout.previous, `versions/${name}`);
    replaceLink(layout.current, `versions/${name}`);
    return offer.release.version;
  } finally {
    lock.release();
  }
}

/** Updates now. Answers what came of it. */
export async function updateNow(parts: UpdaterParts, force: boolean): Promise<Outcome | null> {
  const trigger: Trigger = { by: 'hand', request: null, force, asked_at: parts.nowMs() };
  const state = await drive(parts, { type: 'asked', trigger });
  return state.phase.step === 'idle' ? state.outcome : null;
}

/**
 * Goes back to the version before, by hand; the one that is left is not taken again by itself. An update that was
 * interrupted is ended first: where its version is taken back, that was it.
 */
export async function rollBack(parts: UpdaterParts): Promise<Outcome | null> {
  const { layout, nowMs } = parts;
  const { phase, outcome } = await withNothingLeft(
    parts,
    (left) => dropped(parts, left) ?? takenUp(parts, 'restarted'),
    async (idle, left) => {
      if (left.phase.step !== 'idle' && isTakenBack(layout, idle)) return idle;
      const change = await wayBack(parts);
      const state = await follow(parts, idle, { type: 'prepared', change });
      if (state.phase.step !== 'idle' || state.outcome?.outcome !== 'updated') return state;
      const refused = refusing(state, change.from, 'somebody went back from it by hand', nowMs());
      writeState(layout.state, refused);
      return refused;
    },
  );
  return phase.step === 'idle' ? outcome : null;
}

/** The end of an update that has changed nothing yet: taken up, it would install what nobody wants any more. */
function dropped(parts: UpdaterParts, { phase }: State): UpdaterEvent | null {
  const error = 'it was interrupted, and somebody went back by hand';
  if (phase.step === 'preparing') {
    const from = linkedVersion(parts.layout, parts.layout.current)?.version ?? '';
    return { type: 'left', from, to: '', error };
  }
  if (phase.step !== 'switching' || !isUntouched(parts, phase.change)) return null;
  const { from, to } = phase.change;
  return { type: 'left', from: from.version, to: to.version, error };
}

/**
 * Whether the version that was tried last is left: a repair, or one without a whole version before it, stays in place.
 */
function isTakenBack({ current }: Layout, { outcome, refused }: State): boolean {
  return outcome?.outcome === 'rolled_back' && refused?.name !== linkedName(current);
}

async function wayBack({ layout, config, nowMs }: UpdaterParts): Promise<Omit<Switch, 'restarted_at'>> {
  const [from, to] = [linkedVersion(layout, layout.current), linkedVersion(layout, layout.previous)];
  if (from === null || to === null || from.name === to.name)
    throw new UpdateProblem('there is no version before this one: nothing was changed');
  if (!(await isVersionWhole(layout, to.name)))
    throw new UpdateProblem(`the files of ${to.version} are damaged: nothing was changed`);
  const trigger: Trigger = { by: 'hand', request: null, force: true, asked_at: nowMs() };
  const problems = [...keptProblems(readHealth(agentFile(config, HEALTH_FILE)))];
  return { wish: trigger, from, to, before: to.name, problems };
}

/** Keeps this machine at one version, which the next update installs; null: it follows its channel again. */
export function pin({ layout, nowMs, log }: UpdaterParts, version: string | null): void {
  const lock = takeLock(layout.lock, layout.lockHolder, nowMs());
  try {
    const state = readState(layout.state, (problem) => log.error({}, problem));
    writeState(layout.state, transition(state, { type: 'pin', version }, nowMs()).state);
  } finally {
    lock.release();
  }
}

/** What the updater knows, for people. */
export function statusText(parts: UpdaterParts): string {
  const { config, layout } = parts;
  const state = stateOf(parts);
  const [current, previous] = [linkedVersion(layout, layout.current), linkedVersion(layout, layout.previous)];
  const rows: readonly (readonly [string, string])[] = [
    ['Version', current?.version ?? 'none: edge-updater bootstrap installs one'],
    ['Version before', previous === null || previous.name === current?.name ? 'none' : previous.version],
    [
      'Channel',
      state.pinned === null ? config.UPDATER_CHANNEL : `${config.UPDATER_CHANNEL}, pinned to ${state.pinned}`,
    ],
    ['Now', phaseText(state)],
    [
      'Last update',
      state.outcome === null
        ? 'none'
        : outcomeText(state.outcome, ` on ${new Date(state.outcome.finished_at).toISOString()}`),
    ],
    ...(state.refused === null
      ? []
      : [
          [
            'Taken back',
            `${state.refused.version}, on ${new Date(state.refused.at).toISOString()}: ${firstLine(state.refused.reason)}`,
          ] as const,
        ]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}\n`).join('');
}

/** The same for programs. */
export function statusJson(parts: UpdaterParts): string {
  const { layout } = parts;
  const [current, previous] = [linkedVersion(layout, layout.current), linkedVersion(layout, layout.previous)];
  const { phase, outcome, refused, pinned } = stateOf(parts);
  return `${JSON.stringify({ current, previous, channel: parts.config.UPDATER_CHANNEL, pinned, step: phase.step, outcome, refused }, null, 2)}\n`;
}

/** What the version before asks of a new one: whether it can go on with what it finds. Throws an UpdateProblem. */
export function selfCheckText({ layout }: UpdaterParts, version: string): string {
  readState(layout.state, (problem) => {
    throw new UpdateProblem(problem);
  });
  if (!existsSync(join(layout.trust, 'root.json')))
    throw new UpdateProblem(`${layout.trust} has no root.json: edge-updater bootstrap --root FILE makes one`);
  return `edge-updater ${version}: settings, state and trust can be used`;
}

/** One line about what came of an update; `when` stands behind its verb. */
export function outcomeText({ outcome, from, to, error, away_ms: awayMs }: Outcome, when = ''): string {
  if (outcome === 'updated')
    return `updated from ${from} to ${to}${when}${awayMs === null ? '' : `, away for ${(awayMs / 1_000).toFixed(1)} s`}`;
  if (outcome === 'rolled_back') return `${to} was taken back to ${from}${when}: ${error ?? ''}`;
  if (error !== null) return `nothing was changed${when}: ${error}`;
  return from === to
    ? `${from} is the newest${when}`
    : `nothing was newer${when}: the channel names ${to}, and ${from} runs`;
}

function phaseText({ phase }: State): string {
  switch (phase.step) {
    case 'idle':
      return 'nothing is under way';
    case 'preparing':
      return 'a release is fetched and checked';
    case 'switching':
      return `it switches from ${phase.change.from.version} to ${phase.change.to.version}`;
    case 'watching':
      return `${phase.change.to.version} runs and is watched`;
    case 'returning':
      return `it goes back from ${phase.change.to.version} to ${phase.change.from.version}`;
    default:
      return phase satisfies never;
  }
}

function readRoot(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new UpdateProblem(`${path} cannot be read: ${isMissing ? 'there is no such file' : systemProblem(error)}`, {
      cause: error,
    });
  }
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}
