/**
 * Agents that stood still while what waits there was ended at the admin (C8), with a real admin, database and agents.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { STALL_MS_MIN } from '../../../agent/execution/starts/start-gate.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { column } from '../../support/database/columns.ts';
import { freeze } from '../../support/frozen.ts';
import { until } from '../../support/until.ts';

const fleet = sharedFleet(test, { agents: 3, agentEnv: { COMMAND_EXECUTION_CONCURRENCY: '1' } });

/** Longer than an agent takes for being busy, in ms. */
const STALL_MS = STALL_MS_MIN + 1_500;

test('a script cancelled, or whose node was deleted, during a stall of its agent never starts; another script does', async (t) => {
  const [gate, ledger] = [join(fleet().directory, 'gate'), join(fleet().directory, 'started')];
  const nodes = fleet().agents.map(({ node }) => node);
  const [cancelled = '', deleted = '', wanted = ''] = nodes;
  await Promise.all(fleet().agents.map((agent) => fleet().reaches(agent, 'healthy')));
  const targeting = { type: 'nodes', node_ids: nodes } as const;
  const before = await fleet().run(`until [ -e '${gate}' ]; do sleep 0.05; done`, { targeting });
  const behind = await fleet().run(`echo "$EDGE_NODE_ID" >> '${ledger}'`, { targeting });
  for (const command of [before, behind])
    await fleet().settled(
      command,
      (executions) => executions.length === 3 && executions.every(({ status }) => status === 'sent'),
    );
  const executionOn = async (node: string) =>
    (await fleet().executionsOf(behind)).find(({ node_id }) => node_id === node);

  await Promise.all(fleet().agents.map(({ program }) => freeze(program)));
  writeFileSync(gate, ''); // what runs ends beside its agent, which has room for the next one when it wakes
  // the time is what is tested here: nothing else tells a stall from a pause between two deliveries
  await sleep(STALL_MS);
  const waiting = await executionOn(cancelled);
  const answers = [
    await settledAnswer(() => fleet().rest.call('POST', `/command_executions/${waiting?.id}/cancel`)),
    await settledAnswer(() => fleet().rest.call('DELETE', `/nodes/${deleted}`)),
  ];
  t.deepEqual(column(answers, 'status'), [202, 204]);
  for (const { program } of fleet().agents) program.resume();

  // Its session tells it, and it ends; or, where the admin has given that up by then, the answer to its next dial does.
  const gone = fleet().agents[nodes.indexOf(deleted)]?.program;
  if (gone === undefined) throw new Error('no agent was deleted');
  await until(
    'the deleted agent to know',
    () => gone.exit !== null || gone.output.includes(' was deleted at the admin'),
  );
  t.deepEqual(gone.exit ?? { code: 4, signal: null }, { code: 4, signal: null });
  const ends = await fleet().settled(behind);
  t.deepEqual(
    nodes.map((node) => ends.find(({ node_id }) => node_id === node)).map((end) => [end?.status, end?.exit_code]),
    [
      ['cancelled', 143],
      ['dropped', null],
      ['completed', 0],
    ],
  );
  t.deepEqual(existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').filter(Boolean) : [], [wanted]);
});
