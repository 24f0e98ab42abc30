/**
 * `npm run chaos [-- --kills 200] [--only WORDS]`: kills the real programs, again and again, at every moment that
 * matters, sets their database back, freezes them and shifts their clocks, and looks each time whether all held. One
 * line a round, a summary at the end; the exit status says whether all held. Then it plays one history, unless --only
 * names a point: of two faults for each kill, and no longer than an hour, unless --faults and --seconds say otherwise.
 *
 * `npm run chaos -- --history [--faults 400] [--seconds 3600] [--admins 3] [--seed 1] [--only WORDS]`: clients ask
 * several admins for everything, while these are killed, frozen, ended and cut from their database, their agents and
 * each other, and what the clients were told is judged. Figures at the end say how often each operation was answered
 * how, at the owner and elsewhere.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { missingPeers } from '../support/run/peers.ts';
import { createScope } from '../support/scope.ts';
import { ACTS, type Act } from './acts.ts';
import { enterNetworks, tellHistory } from './history/run.ts';
import type { KillPoint } from './kill-points.ts';
import { playRound, wholeStory, type Outcome } from './round.ts';
import { openFixture, type Fixture } from './fixture.ts';

/** Kills unless told otherwise. Source: the proof that the main job asks for. */
const KILLS = 200;

/** Faults of a history unless told otherwise. */
const FAULTS = 400;

/** The same of a history that follows kills, for each of them. */
const FAULTS_PER_KILL = 2;

/** Longest for the faults of a history that follows kills, in s, unless told otherwise. */
const HISTORY_SECONDS_MAX = 3_600;

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: String(KILLS) },
    only: { type: 'string' },
    history: { type: 'boolean', default: false },
    faults: { type: 'string' },
    seconds: { type: 'string' },
    short: { type: 'boolean', default: false },
    clients: { type: 'string' },
    logs: { type: 'string' },
    admins: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
  },
});
const faultsWanted = Number(values.faults ?? (values.history ? FAULTS : FAULTS_PER_KILL * Number(values.kills)));
const counts = [
  values.kills,
  faultsWanted,
  values.seconds ?? '1',
  values.clients ?? '1',
  values.admins,
  values.seed,
].map(Number);
const killsWanted = Number(values.kills);
const isWanted = (name: string): boolean => values.only === undefined || name.includes(values.only);

const acts = values.history ? ACTS : ACTS.filter(({ names }) => names.some(isWanted));

if (!counts.every((count) => Number.isSafeInteger(count) && count >= 1) || acts.length === 0) {
  process.stderr.write(
    'usage: npm run chaos [-- [--kills NUMBER] [--only WORDS OF A POINT] [--faults NUMBER] [--seconds NUMBER] | --history [--faults NUMBER] [--seconds NUMBER] [--admins NUMBER] [--clients NUMBER] [--seed NUMBER] [--only WORDS OF A FAULT] [--logs DIRECTORY]]\n',
  );
  process.exit(2);
}

const startedMs = performance.now();
const totals = { kills: 0, restores: 0, freezes: 0, clocksSet: 0, rounds: 0, commands: 0, executions: 0, confirmed: 0 };
const breaches: string[] = [];
let scope = createScope();
const onSignal = () => void scope.end().finally(() => process.exit(130));
process.once('SIGINT', onSignal).once('SIGTERM', onSignal);

if (values.history) await playOneHistory();
else {
  await playActs();
  if (values.only === undefined) await playHistoryAtEnd();
}

for (const breach of breaches) process.stdout.write(`  ${breach}\n`);
process.exitCode = breaches.length === 0 ? 0 : 1;

async function playActs(): Promise<void> {
  for (const act of acts) {
    const missing = await missingPeers(act.peers);
    if (missing.length > 0) {
      process.stdout.write(`left out  ${act.names.join('; ')}: needs ${missing.join(', ')}, not on this machine\n`);
      continue;
    }
    scope = createScope();
    try {
      await play(await openFixture(scope, act), act);
    } finally {
      await scope.end();
    }
  }
  process.stdout.write(
    `${verdict()}: ${totals.kills} kills, ${totals.restores} restores, ${totals.freezes} freezes and ${totals.clocksSet} jumps of clocks in ${totals.rounds} rounds, ${totals.commands} commands, ${totals.executions} executions, ${totals.confirmed} confirmed results, ${secondsGone()} s\n`,
  );
}

async function playOneHistory(): Promise<void> {
  const problem = await enterNetworks();
  const { seconds, clients, only, logs } = values;
  const options = {
    admins: Number(values.admins),
    seed: Number(values.seed),
    faults: faultsWanted,
    isShort: values.short,
    ...(seconds !== undefined && { seconds: Number(seconds) }),
    ...(clients !== undefined && { clients: Number(clients) }),
    ...(logs !== undefined && { logs }),
    ...(only !== undefined && { only: only.split(',') }),
  };
  try {
    breaches.push(...(await tellHistory(scope, options, problem, (line) => process.stdout.write(`${line}\n`))));
    process.stdout.write(`${verdict()}: ${secondsGone()} s\n`);
  } finally {
    await scope.end();
  }
}

/** In a process of its own, which goes into a network of its own. */
async function playHistoryAtEnd(): Promise<void> {
  const { admins, seed, clients, logs, seconds = String(HISTORY_SECONDS_MAX) } = values;
  const given = Object.entries({ faults: String(faultsWanted), seconds, admins, seed, clients, logs });
  const words = given.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
  scope = createScope();
  const player = spawn(process.execPath, [import.meta.filename, '--history', ...words], { stdio: 'inherit' });
  scope.teardown(() => void player.kill());
  try {
    const [status] = (await once(player, 'exit')) as [number | null];
    if (status !== 0) breaches.push('the history at the end, as it says above');
  } finally {
    await scope.end();
  }
}

function verdict(): string {
  return breaches.length === 0 ? 'all held' : `${breaches.length} BREACHES`;
}

function secondsGone(): number {
  return Math.round((performance.now() - startedMs) / 1_000);
}

async function play(fixture: Fixture, act: Act): Promise<void> {
  const { once, again, alsoBroken, told } = await act.begin(scope, fixture);
  const points = again.filter(({ name }) => isWanted(name));
  const enough = killsWanted * (act === acts.at(-1) ? 1 : act.upTo);
  const already = totals.kills;
  let isWhole = true;
  for (let time = 0; time < act.times(killsWanted); time += 1) {
    for (const point of once.filter(({ name }) => isWanted(name))) isWhole &&= await round(fixture, point, alsoBroken);
  }
  for (let index = 0; points.length > 0 && already + fixture.kills < enough; index += 1) {
    isWhole &&= await round(fixture, points[index % points.length] as KillPoint, alsoBroken);
    if (!isWhole) break;
  }
  for (const fault of ['kills', 'restores', 'freezes', 'clocksSet'] as const) totals[fault] += fixture[fault];
  totals.commands += fixture.attempts.length;
  totals.confirmed += fixture.books.confirmed.size;
  if (!isWhole) return;
  breaches.push(...(await wholeStory(fixture)));
  totals.executions +=
    (await fixture.fleet.sql<{ n: number }>('select count(*)::int as n from command_execution'))[0]?.n ?? 0;
  const more = await told();
  if (more !== null) process.stdout.write(`        ${more}\n`);
}

/** False when the fixture may not be whole any more. */
async function round(
  fixture: Fixture,
  point: KillPoint,
  alsoBroken: () => Promise<readonly string[]>,
): Promise<boolean> {
  const outcome = await playRound(fixture, point, alsoBroken);
  print(outcome);
  breaches.push(...outcome.breaches);
  totals.rounds += 1;
  return !outcome.breaches.some((breach) => breach.startsWith('the round broke off'));
}

function print({ name, kills, ms, states, breaches: broken }: Outcome): void {
  const counts = Object.entries(states)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ');
  process.stdout.write(
    `${broken.length === 0 ? 'held  ' : 'BROKEN'}  ${String(kills).padStart(2)} killed  ${(ms / 1_000).toFixed(1).padStart(5)} s  ${name}: ${counts}\n`,
  );
  for (const breach of broken) process.stdout.write(`        ${breach}\n`);
}
