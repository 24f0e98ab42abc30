/**
 * `npm run chaos [-- --kills 200] [--only WORDS]`: kills the real programs, again and again, at every moment that matters,
 * and looks each time whether all held. One line a round, a summary at the end; the exit status says whether all held.
 */
import { parseArgs } from 'node:util';
import { createScope } from '../test/support/scope.ts';
import { KILL_POINTS } from './kill-points.ts';
import { PAUSES } from './pauses.ts';
import { playRound, wholeStory, type Outcome } from './round.ts';
import { openWorld } from './world.ts';

/** Kills unless told otherwise. Source: the proof that the main job asks for. */
const KILLS = 200;

const { values } = parseArgs({ options: { kills: { type: 'string', default: String(KILLS) }, only: { type: 'string' } } });
const killsWanted = Number(values.kills);
const chosen = [...KILL_POINTS, ...PAUSES].filter(({ name }) => values.only === undefined || name.includes(values.only));
if (!Number.isSafeInteger(killsWanted) || killsWanted < 1 || chosen.length === 0) {
  process.stderr.write('usage: npm run chaos [-- --kills NUMBER] [--only WORDS OF A POINT]\n');
  process.exit(2);
}

process.exitCode = await run() ? 0 : 1;

async function run(): Promise<boolean> {
  const startedMs = performance.now();
  const scope = createScope();
  const outcomes: Outcome[] = [];
  const onSignal = () => void scope.end().finally(() => process.exit(130));
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  try {
    const world = await openWorld(scope);
    for (let index = 0; world.kills < killsWanted; index += 1) {
      const point = chosen[index % chosen.length];
      // Freezes take a minute and kill nobody: once each.
      if (point === undefined || (PAUSES.includes(point) && index >= chosen.length)) {
        if (chosen.every((one) => PAUSES.includes(one)) && index >= chosen.length) break;
        continue;
      }
      const outcome = await playRound(world, point);
      outcomes.push(outcome);
      print(outcome);
      if (outcome.breaches.some((breach) => breach.startsWith('the round broke off'))) break; // the world may not be whole any more
    }
    const breaches = [...outcomes.flatMap((outcome) => outcome.breaches), ...(outcomes.some((outcome) => outcome.breaches.length > 0) ? [] : await wholeStory(world))];
    const { executions } = (await world.fleet.sql<{ executions: number }>('select count(*)::int as executions from command_execution').catch(() => []))[0] ?? { executions: 0 };
    process.stdout.write(`${breaches.length === 0 ? 'all held' : `${breaches.length} BREACHES`}: ${world.kills} kills in ${outcomes.length} rounds, ${world.attempts.length} commands, ${executions} executions, ${world.confirmed.size} confirmed results, ${Math.round((performance.now() - startedMs) / 1_000)} s\n`);
    for (const breach of breaches) process.stdout.write(`  ${breach}\n`);
    return breaches.length === 0;
  } finally {
    await scope.end();
  }
}

function print({ name, kills, ms, states, breaches }: Outcome): void {
  const counts = Object.entries(states).map(([state, count]) => `${count} ${state}`).join(', ');
  process.stdout.write(`${breaches.length === 0 ? 'held  ' : 'BROKEN'}  ${String(kills).padStart(2)} killed  ${(ms / 1_000).toFixed(1).padStart(5)} s  ${name}: ${counts}\n`);
  for (const breach of breaches) process.stdout.write(`        ${breach}\n`);
}
