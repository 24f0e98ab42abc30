/** How commands reach agents that are slow, away, stopped or watched. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { CLUSTER, FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { processesWith } from '../../support/fleet/agent-program.ts';
import { expireIn, muchLater } from '../../support/fleet/expiry.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { socketClient } from '../../support/api/trpc-clients.ts';

const withCurl = await peerTest('curl');
const fleet = sharedFleet(test, { agents: 2, agentEnv: { COMMAND_EXECUTION_CONCURRENCY: '1' } });
const BUSY = 300;

test('300 commands queued on one node run in the order of their creation, one at a time', async (t) => {
  const node = fleet().agents[0]?.node ?? '';
  const ledger = join(fleet().directory, 'order');
  const commands: { id: string }[] = [];
  for (let index = 0; index < BUSY; index += 1) {
    commands.push(
      await fleet().run(`echo begin ${index} >>${ledger}; echo end ${index} >>${ledger}`, {
        targeting: { type: 'nodes', node_ids: [node] },
      }),
    );
  }

  await until(
    'the last of them',
    async () =>
      (
        await fleet().sql<{ n: number }>(
          `select count(*)::int as n from command_execution where node_id = $1 and status = 'completed' and command_id = any($2::uuid[])`,
          [node, commands.map(({ id }) => id)],
        )
      )[0]?.n === BUSY,
    90_000,
  );

  t.deepEqual(
    readFileSync(ledger, 'utf8').trimEnd().split('\n'),
    Array.from({ length: BUSY }, (_, index) => [`begin ${index}`, `end ${index}`]).flat(),
  );
});

test('while an agent is away its commands wait; what expires by then is never run, the rest is', async (t) => {
  const away = await fleet().addHealthyAgent();
  const targeting = { type: 'nodes', node_ids: [away.node] };
  await away.kill();
  const ledger = join(fleet().directory, 'away');
  const stale = await fleet().run(`echo stale >>${ledger}`, { targeting, expired_at: muchLater() });
  const fresh = await fleet().run(`echo fresh >>${ledger}`, { targeting });
  const unwanted = await fleet().run(`echo unwanted >>${ledger}`, { targeting });
  const [execution] = await fleet().executionsOf(unwanted);
  const cancel = () => fleet().rest.call('POST', `/command_executions/${execution?.id ?? ''}/cancel`);
  t.is((await settledAnswer(cancel)).status, 200);
  await expireIn(fleet(), stale);
  const [expired] = await fleet().settled(stale);

  away.start();
  const [ran] = await fleet().settled(fresh);

  t.like(expired, { status: 'expired', exit_code: null, sent_at: null });
  t.like(ran, { status: 'completed', exit_code: 0 });
  t.like((await fleet().settled(unwanted))[0], { status: 'cancelled', exit_code: 143, sent_at: null });
  t.is(readFileSync(ledger, 'utf8'), 'fresh\n');
});

test('an output is seen while it grows, by a tRPC client', async (t) => {
  const [agent] = fleet().agents.slice(1);
  const go = join(fleet().directory, 'go');
  const command = await fleet().run(`echo first; while [ ! -e ${go} ]; do sleep 0.02; done; echo second`, {
    targeting: { type: 'nodes', node_ids: [agent?.node ?? ''] },
  });
  const [execution] = await fleet().settled(command, ([one]) => one?.status === 'sent');
  const client = socketClient(t, fleet().admins[0]?.url ?? '', FLEET_KEYS.API_KEY);
  const seen: string[] = [];
  let ended: unknown = null;

  const subscription = client.executions.tail.subscribe(
    { id: execution?.id ?? '' },
    {
      onData: ({ data }) => {
        if (data.type === 'output') seen.push(data.text);
        if (data.type === 'end') ended = data;
      },
    },
  );
  t.teardown(() => {
    subscription.unsubscribe();
  });
  await until('the first line', () => seen.join('') === 'first\n');
  writeFileSync(go, '');
  await until('the end', () => ended !== null);

  t.is(seen.join(''), 'first\nsecond\n');
  t.like(ended, { status: 'completed', exit_code: 0, output_truncated: false });
});

test('an agent that is stopped by SIGTERM ends what runs, reports it as cancelled with 143, and leaves with status 0', async (t) => {
  const agent = await fleet().addHealthyAgent();
  const command = await fleet().run('echo begun; sleep 1000', { targeting: { type: 'nodes', node_ids: [agent.node] } });
  const [running] = await fleet().settled(command, ([one]) => one?.status === 'sent');
  await until('the script', () => processesWith(`EDGE_EXECUTION_ID=${running?.id ?? ''}`).length > 0);

  agent.program.terminate();
  const exit = await agent.program.ended();

  t.deepEqual(exit, { code: 0, signal: null });
  t.like((await fleet().settled(command))[0], { status: 'cancelled', exit_code: 143, output: 'begun\n' });
  t.deepEqual(processesWith(`EDGE_EXECUTION_ID=${running?.id ?? ''}`), []);
});

withCurl('curl alone runs a command and reads its output', async (t) => {
  const url = `${fleet().admins[0]?.url ?? ''}/api/v1`;
  const curl = async (...words: string[]) =>
    JSON.parse(
      (await promisify(execFile)('curl', ['-sS', '-H', `Authorization: Bearer ${FLEET_KEYS.API_KEY}`, ...words]))
        .stdout,
    ) as { data: { id: string; summary: { completed: number } } & { output: string }[] };

  const body = JSON.stringify({
    command_text: 'echo by curl',
    targeting: { type: 'nodes', node_ids: [fleet().agents[1]?.node] },
  });
  const { data: command } = await curl(
    '-X',
    'POST',
    '-H',
    'Content-Type: application/json',
    '-d',
    body,
    `${url}/commands`,
  );
  await until('its end', async () => (await curl(`${url}/commands/${command.id}`)).data.summary.completed === 1);
  const { data: executions } = await curl(`${url}/command_executions?command_id__in=${command.id}`);

  t.is(executions[0]?.output, 'by curl\n');
});

test('an admin that is stopped by SIGTERM leaves with status 0, and its next run goes on with the agents that come back', async (t) => {
  const own = await startFleet(t, { agents: 1 });
  const [admin] = own.admins;
  const go = join(own.directory, 'go');
  const command = await own.run(`while [ ! -e ${go} ]; do sleep 0.02; done; echo went on`);
  await own.settled(command, ([one]) => one?.status === 'sent');

  admin?.program.terminate();
  const exit = await admin?.program.ended();
  writeFileSync(go, '');
  await admin?.start();

  t.deepEqual(exit, { code: 0, signal: null });
  t.like((await own.settled(command))[0], { status: 'completed', exit_code: 0, output: 'went on\n' });
  t.true(existsSync(go));
  t.like(await own.rest.get(`/clusters/${CLUSTER}`), { node_count: 1 });
});
