/**
 * `npm run chaos [-- --kills 200] [--only WORDS]`: kills the real programs, again and again, at every moment that matters,
 * and looks each time whether all held. One line a round, a summary at the end; the exit status says whether all held.
 */
import { parseArgs } from 'node:util';
import { createScope } from '../test/support/scope.ts';
import { KILL_POINTS, type KillPoint } from './kill-points.ts';
import { PAUSES } from './pauses.ts';
import { playRound, wholeStory, type Outcome } from './round.ts';
import { TAKEOVERS } from './takeovers.ts';
import { openWorld, type World } from './world.ts';

/** Kills unless told otherwise. Source: the proof that the main job asks for. */
const KILLS = 200;

const { values } = parseArgs({ options: { kills: { type: 'string', default: String(KILLS) }, only: { type: 'string' } } });
const killsWanted = Number(values.kills);
const isWanted = ({ name }: KillPoint): boolean => values.only === undefined || name.includes(values.only);

/** Part of all kills after which the next world begins; the last takes the rest. */
const SHARE = 0.9;

/** Worlds one after another: how many admins, what happens there once, and what again and again. */
const ACTS = [
  { admins: 1, once: PAUSES.filter(isWanted), again: KILL_POINTS.filter(isWanted) },
  { admins: 2, once: [], again: TAKEOVERS.filter(isWanted) },
].filter(({ once, again }) => once.length + again.length > 0);

if (!Number.isSafeInteger(killsWanted) || killsWanted < 1 || ACTS.length === 0) {
  process.stderr.write('usage: npm run chaos [-- --kills NUMBER] [--only WORDS OF A POINT]\n');
  process.exit(2);
}

const startedMs = performance.now();
const totals = { kills: 0, rounds: 0, commands: 0, executions: 0, confirmed: 0 };
const breaches: string[] = [];
let scope = createScope();
const onSignal = () => void scope.end().finally(() => process.exit(130));
process.once('SIGINT', onSignal).once('SIGTERM', onSignal);

for (const act of ACTS) {
  scope = createScope();
  try {
    await play(await openWorld(scope, act), act);
  } finally {
    await scope.end();
  }
}

process.stdout.write(`${breaches.length === 0 ? 'all held' : `${breaches.length} BREACHES`}: ${totals.kills} kills in ${totals.rounds} rounds, ${totals.commands} commands, ${totals.executions} executions, ${totals.confirmed} confirmed results, ${Math.round((performance.now() - startedMs) / 1_000)} s\n`);
for (const breach of breaches) process.stdout.write(`  ${breach}\n`);
process.exitCode = breaches.length === 0 ? 0 : 1;

async function play(world: World, act: (typeof ACTS)[number]): Promise<void> {
  const { once, again } = act;
  const enough = killsWanted * (act === ACTS.at(-1) ? 1 : SHARE);
  const already = totals.kills;
  let isWhole = true;
  for (const point of once) isWhole &&= await round(world, point);
  for (let index = 0; again.length > 0 && already + world.kills < enough; index += 1) {
    isWhole &&= await round(world, again[index % again.length] as KillPoint);
    if (!isWhole) break;
  }
  totals.kills += world.kills;
  totals.commands += world.attempts.length;
  totals.confirmed += world.confirmed.size;
  if (!isWhole) return;
  breaches.push(...await wholeStory(world));
  totals.executions += (await world.fleet.sql<{ n: number }>('select count(*)::int as n from command_execution'))[0]?.n ?? 0;
}

/** False when the world may not be whole any more. */
async function round(world: World, point: KillPoint): Promise<boolean> {
  const outcome = await playRound(world, point);
  print(outcome);
  breaches.push(...outcome.breaches);
  totals.rounds += 1;
  return !outcome.breaches.some((breach) => breach.startsWith('the round broke off'));
}

function print({ name, kills, ms, states, breaches: broken }: Outcome): void {
  const counts = Object.entries(states).map(([state, count]) => `${count} ${state}`).join(', ');
  process.stdout.write(`${broken.length === 0 ? 'held  ' : 'BROKEN'}  ${String(kills).padStart(2)} killed  ${(ms / 1_000).toFixed(1).padStart(5)} s  ${name}: ${counts}\n`);
  for (const breach of broken) process.stdout.write(`        ${breach}\n`);
}
