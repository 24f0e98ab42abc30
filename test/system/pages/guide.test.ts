/**
 * The guide pages are true: every command on them is pasted where the page says, in a real fleet, and shows what the
 * page promises.
 */
import ava from 'ava';
import { GUIDE_PAGES } from '../../../api/docs/guide/pages.ts';
import { createDatabase } from '../../support/database/database.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { isPromised } from './guide-blocks.ts';
import type { TriedBlock } from './guide-program.ts';
import { hangAfter } from '../../support/busy.ts';
import { networkProblem, inOwnNetwork } from '../../support/networks/cable.ts';
import { createScope } from '../../support/scope.ts';

const test = await peerTest('curl', 'ssh', 'scp', 'ssh-keygen', 'prometheus', 'promtool', 'ps');

/** Nine pages of commands, each of which starts programs, on a busy machine, in ms. */
const FIXTURE_MS_MAX = 300_000;

/** Blocks of all pages together, at least. Less means that they were not found. */
const BLOCKS_MIN = 50;

const scope = createScope();
let tried: readonly TriedBlock[] | null = null;
let problem: string | null = null;

ava.before(async (t) => {
  t.timeout(hangAfter(FIXTURE_MS_MAX));
  problem = await networkProblem();
  if (problem !== null) return;
  const connection = JSON.stringify(await createDatabase(scope));
  const program = `exec '${process.execPath}' '${import.meta.dirname}/guide-program.ts' '${connection}'`;
  const { stdout } = await inOwnNetwork(program, { mounts: true, msMax: hangAfter(FIXTURE_MS_MAX) });
  tried = JSON.parse(stdout) as readonly TriedBlock[];
});

ava.after.always(() => scope.end());

for (const path of Object.keys(GUIDE_PAGES)) {
  test(`every command of ${path} works when it is pasted, and prints what the page says`, (t) => {
    t.pass();
    if (tried === null) return t.log(problem);
    for (const { commands, prints, lasts, untested, pasted } of tried.filter((block) => block.path === path)) {
      if (pasted === null) {
        t.truthy(untested, commands);
        t.log(`not tried, as ${untested}: ${commands}`);
        continue;
      }
      if (lasts === null) t.is(pasted.status, 0, `${commands}\n${pasted.printed}`);
      if (prints !== null)
        t.true(
          isPromised(prints, pasted.printed, lasts === null),
          `${commands}\npromised: ${prints}\nprinted: ${pasted.printed}`,
        );
    }
  });
}

test('the pages have their commands, and those that ask for something do so last', (t) => {
  t.pass();
  if (tried === null) return t.log(problem);
  t.true(tried.length >= BLOCKS_MIN, `${tried.length}`);
  // What is pasted after such a line would be read by it.
  for (const { commands, asks } of tried)
    t.is(/\bread -rs/u.test(commands.split('\n').at(-1) ?? ''), asks !== null, commands);
  for (const { commands } of tried)
    t.false(
      commands
        .split('\n')
        .slice(0, -1)
        .some((line) => line.includes('read -rs')),
      commands,
    );
});
