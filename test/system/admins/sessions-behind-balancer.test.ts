/** Agents that do not get to the owner of their cluster: the admin that they reach passes their session on. */
import test from 'ava';
import type { CommandResource, ExecutionResource } from '../../../actors/resources/command.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { hangAfter, scaled } from '../../support/busy.ts';
import { behindBalancer } from '../../support/fleet/behind-balancer.ts';
import type { Rest } from '../../support/fleet/rest.ts';
import { until } from '../../support/until.ts';

const AGENTS = 4;
const TEST_MS_MAX = 300_000;

/** Agents behind a balancer came to their owner by chance before, after 43 s. */
const SETTLED_MS_MAX = 10_000;

/** Nobody gets there. */
const nowhere = (_admin: unknown, place: number): string => `http://127.0.0.${place + 1}:1`;

test.serial(
  'agents that know a balancer alone settle within seconds, and run commands, also when an owner dies',
  async (t) => {
    t.timeout(hangAfter(TEST_MS_MAX));
    const fleet = await behindBalancer(t, { admins: 2, agents: AGENTS, ownUrl: nowhere });
    const [first, second] = fleet.rests;

    const before = await outputs(second!);
    const reasons = await reasonsOf(first!);
    await fleet.admins[0]?.kill();
    await until('that all are healthy again', async () => {
      const nodes = await second!.get<readonly NodeResource[]>('/nodes');
      return nodes.every(({ status }) => status === 'healthy');
    });
    const after = await outputs(second!);

    t.log(`settled after ${fleet.settledMs} ms; relayed: ${reasons.filter((reason) => reason !== null).length}`);
    t.true(fleet.settledMs < scaled(SETTLED_MS_MAX), String(fleet.settledMs));
    t.deepEqual(before, said(AGENTS));
    t.deepEqual(after, said(AGENTS));
    for (const reason of reasons.filter((one) => one !== null)) t.regex(reason, /relayed by the admin admin-2/u);
  },
);

test.serial('an agent that gets to one admin alone is served by it for the owner, and its node says so', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const fleet = await behindBalancer(t, { admins: 2, agents: 2, ownUrl: nowhere, isFirstOnly: true });
  const [edge, owner] = fleet.rests;

  const reasons = await reasonsOf(edge!);
  const relayed = await Promise.all(fleet.nodes.map(({ id }) => sessionCheck(owner!, id)));
  const before = await outputs(edge!);
  await fleet.admins[1]?.kill();
  await until('sessions at the admin that is left', async () => (await reasonsOf(edge!)).every((one) => one === null));
  const after = await outputs(edge!);

  t.deepEqual(
    reasons,
    fleet.nodes.map(
      () => 'Its session is relayed by the admin admin-1: the agent does not reach the owner of its cluster',
    ),
  );
  t.deepEqual(
    relayed,
    fleet.nodes.map(() => 'warn'),
  );
  t.deepEqual([before, after], [said(2), said(2)]);
});

function said(count: number): readonly string[] {
  return Array.from({ length: count }, () => 'here\n');
}

/** What a command says on all nodes. */
async function outputs(rest: Rest): Promise<readonly (string | null)[]> {
  const { id } = await until('a command', async () =>
    rest
      .post<CommandResource>('/commands', { command_text: 'echo here', targeting: { type: 'all' } })
      .catch(() => null),
  );
  const executions = await until('its end', async () => {
    const found = await rest.get<readonly ExecutionResource[]>(`/command_executions?command_id__in=${id}`);
    return found.length > 0 && found.every(({ status }) => status === 'completed') ? found : null;
  });
  return executions.map(({ output }) => output);
}

async function reasonsOf(rest: Rest): Promise<readonly (string | null)[]> {
  const nodes = await rest.get<readonly NodeResource[]>('/nodes');
  return nodes.map(({ status_reason: reason }) => reason);
}

async function sessionCheck(rest: Rest, id: string): Promise<string | undefined> {
  const { checks } = await rest.get<{ readonly checks: readonly { name: string; status: string }[] }>(
    `/nodes/${id}/diagnostics`,
  );
  return checks.find(({ name }) => name === 'node_session')?.status;
}
