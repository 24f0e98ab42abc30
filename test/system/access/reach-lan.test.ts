/**
 * A network that only an agent can see, through the admin, by real clients: three networks, and no way from the outer
 * to the inner one but the agent.
 */
import ava from 'ava';
import { createDatabase } from '../../support/database/database.ts';
import { inOwnNetwork, networkProblem } from '../../support/networks/cable.ts';
import { createScope } from '../../support/scope.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import type { ReachOutcome } from './reach-lan-program.ts';
import { hangAfter } from '../../support/busy.ts';

const test = await peerTest('curl', 'ssh', 'ssh-keygen', 'ncat');

const scope = createScope();
let seen: ReachOutcome | null = null;
let problem: string | null = null;

ava.before(async (t) => {
  t.timeout(hangAfter(120_000));
  problem = await networkProblem();
  if (problem !== null) return;
  const connection = JSON.stringify(await createDatabase(scope));
  const program = `exec '${process.execPath}' '${import.meta.dirname}/reach-lan-program.ts' '${connection}'`;
  seen = JSON.parse((await inOwnNetwork(program)).stdout) as ReachOutcome;
});

ava.after.always(() => scope.end());

const HELLO = 'a neighbour greets 192.168.77.1';

/** Declares a test of what was seen there. */
function sees(title: string, look: (fixture: ReachOutcome) => readonly (readonly [unknown, unknown])[]): void {
  test(title, (t) => {
    t.pass();
    if (seen === null) t.log(problem);
    else for (const [saw, wanted] of look(seen)) t.deepEqual(saw, wanted);
  });
}

sees('nothing but the agent leads there', ({ direct }) => [[direct, 7]]);

sees('curl gets there through the node, by every way it knows and by every name of the node', ({ chained }) => [
  [chained, chained.map(() => HELLO)],
  [chained.length, 16],
]);

sees('addresses of IPv6 are reached too', ({ v6 }) => [
  [v6, ['a neighbour greets fd77::1', 'a neighbour greets fd77::1', 'a neighbour greets fd77::1']],
]);

sees('undici gets there as well, with bodies both ways', ({ undici }) => [[undici, [HELLO, HELLO]]]);

sees('ssh forwards ports to there for a user who is logged in', ({ sshForward }) => [[sshForward, HELLO]]);

sees(
  'a name of the node leads to the machine itself in forward mode, and nowhere else',
  ({ forwarded, forwardElsewhere }) => [
    [forwarded, ['200', '200']],
    [forwardElsewhere, ['502', '502']],
  ],
);

sees('the loopback of the machine and the metadata of clouds are closed to chaining', ({ closed }) => [
  [closed, ['403', '403', '403', '403']],
]);

sees('an address that nobody has is told as such, in the words of the protocol', ({ nobody }) => [
  [nobody, ['502', '97']],
]);
