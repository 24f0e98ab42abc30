/**
 * Clients ask three admins for everything, while these are killed, frozen, ended, joined by another one, and cut from
 * their database, their agents and each other; and nothing that the clients were told is untrue. A program of its own
 * plays it, since it needs a network of its own. `npm run chaos -- --history` goes on for longer.
 *
 * `EDGE_HISTORY_SEED` sets the seed, which decides what is asked and done, and in which order.
 *
 * Promises: C1, C3, C5, C6, C7, C9, C10, E1, E2, E5, O1, O3, V1, V2.
 */
import ava from 'ava';
import { hangAfter } from '../../support/busy.ts';
import { Program } from '../../support/fleet/program.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';

const test = await peerTest('root', 'ip', 'nft');

/** Faults, about a minute of them. */
const FAULTS = 20;

/** Clients at a time: fewer than in a run of its own, since other tests run beside this one. */
const CLIENTS = 3;

/** What is asked and done, in which order. */
const SEED = process.env['EDGE_HISTORY_SEED'] ?? '14';

/** Longest for all of it, in ms. */
const TEST_MS_MAX = 180_000;

/** What was left out though a machine that takes this test can do it; not each kernel can delay packets. */
const LEFT_OUT = /^left out {2}(?!clock jump|the delay of a slow link)/mu;

/** Writes at admins that do not own what they are about are served at least as often as this, in percent. */
const SERVED_MIN = 80;

const PLAYER = new URL('../run.ts', import.meta.url).pathname;

const scope = createScope();

ava.after.always('all programs end', () => scope.end());

test(`what three admins tell through ${FAULTS} faults may all be true (seed ${SEED})`, async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const words = ['--history', '--short', '--faults', `${FAULTS}`, '--clients', `${CLIENTS}`, '--seed', SEED];
  const { exit, output } = await played(words);

  t.is(exit?.code, 0, output);
  t.regex(output, /^all held: \d+ s$/mu);
  const [, calls = '0', faults = '0'] = /^(\d+) calls, (\d+) faults/mu.exec(output) ?? [];
  t.is(Number(faults), FAULTS, output);
  t.true(Number(calls) >= 200, output);
  t.notRegex(output, LEFT_OUT);
  const [, served = '0'] = /^writes that were served:.* other (?<share>[\d.]+) %/mu.exec(output) ?? [];
  t.true(Number(served) >= SERVED_MIN, output);
});

/** As it ended, in the environment of the tests: with their programs, and their directories. */
async function played(words: readonly string[]): Promise<Program> {
  const env = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  );
  const program = Program.run(scope, process.execPath, [PLAYER, ...words], env);
  await program.ended(hangAfter(TEST_MS_MAX));
  return program;
}
