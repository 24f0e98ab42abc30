/**
 * A node that moves to another cluster of the same admin: its session goes on, and whoever logs in meanwhile gets in.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { ClusterResource } from '../../../actors/resources/cluster.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { socketClient } from '../../support/api/trpc-clients.ts';
import { CLUSTER, FLEET_KEYS } from '../../support/fleet.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { hangAfter } from '../../support/busy.ts';
import { logsIn } from '../../support/ssh/raw-ssh-client.ts';

const fleet = sharedFleet(test, { agents: 1, env: { AUTH_FAILURES_PER_MINUTE_MAX: '100000' } });

const ANNEX = 'annex';
const PASSWORD = 'a right password';

/** Moves there and back. */
const MOVES = 6;

test.serial(
  'moves there and back cut no session and refuse no right password, and the node is in its cluster',
  async (t) => {
    t.timeout(hangAfter(90_000));
    const agent = fleet().agent();
    await fleet().rest.post<ClusterResource>('/clusters', { name: ANNEX });
    await fleet().rest.post(`/nodes/${agent.node}/ssh_usernames`, { username: 'ada', password: PASSWORD });
    const { ssh_port: port } = await fleet().node(agent);
    const over = new AbortController();
    const logins: boolean[] = [];
    const attempts = (async () => {
      while (!over.signal.aborted) logins.push(await logsIn(port, 'ada', PASSWORD));
    })();
    const from = agent.program.output.length;

    for (let move = 1; move <= MOVES; move += 1) {
      const to = move % 2 === 1 ? ANNEX : CLUSTER;
      const before = logins.length;
      t.is(
        (await fleet().rest.post<NodeResource>(`/nodes/${agent.node}/change_cluster`, { cluster_name: to }))
          .cluster_name,
        to,
      );
      await until(
        'the agent knows',
        () =>
          agent.program.lines().filter(({ msg, cluster }) => msg === 'Connected' && cluster === to).length >=
          Math.ceil(move / 2) + (to === CLUSTER ? 1 : 0),
      );
      const [execution] = await fleet().settled(
        await fleet().run('echo here', { targeting: { type: 'clusters', cluster_names: [to] } }),
      );
      t.is(execution?.output, 'here\n');
      await until('somebody logged in meanwhile', () => logins.length > before);
    }
    over.abort();
    await attempts;

    const said = agent.program.output
      .slice(from)
      .split('\n')
      .filter((line) => /session ended|does not own|owns this cluster|cannot be reached/iu.test(line));
    t.deepEqual(said, []);
    t.deepEqual(
      logins.filter((isIn) => !isIn),
      [],
      `of ${logins.length}`,
    );
    const events = await fleet().sql<{ result: string }>(
      "select data->>'result' as result from event where type = 'edge.ssh_username.verified'",
    );
    t.is(events.length, logins.length);
    t.is(fleet().admin().program.exit, null);
  },
);

test.serial('whoever follows an output goes on to while its node moves', async (t) => {
  const agent = fleet().agent();
  const gate = join(fleet().directory, 'gate');
  const command = await fleet().run(
    `echo first; while [ ! -e ${gate} ]; do sleep 0.02; done; echo second; sleep 1000`,
    { targeting: { type: 'nodes', node_ids: [agent.node] } },
  );
  const [execution] = await fleet().settled(command, ([one]) => one?.status === 'sent');
  const seen: string[] = [];
  const subscription = socketClient(t, fleet().admin().url, FLEET_KEYS.API_KEY).executions.tail.subscribe(
    { id: execution?.id ?? '' },
    {
      onData: ({ data }) => {
        if (data.type === 'output') seen.push(data.text);
      },
    },
  );
  t.teardown(() => {
    subscription.unsubscribe();
  });
  await until('the first line', () => seen.join('') === 'first\n');
  const from = agent.program.output.length;

  await fleet().rest.post<NodeResource>(`/nodes/${agent.node}/change_cluster`, {
    cluster_name: (await fleet().node(agent)).cluster_name === CLUSTER ? ANNEX : CLUSTER,
  });
  await until('the agent knows', () => agent.program.output.slice(from).includes('"Connected"'));
  writeFileSync(gate, '');

  await until('the second line, while it runs', () => seen.join('') === 'first\nsecond\n');
  await fleet().rest.call('POST', `/command_executions/${execution?.id ?? ''}/cancel`);
  t.pass();
});
