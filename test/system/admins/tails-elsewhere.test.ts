/** The live output of executions on nodes of another admin: it comes while they run, whoever owns them meanwhile. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { WebSocket } from 'ws';
import type { TailMessage } from '../../../api/feeds/tail.ts';
import type { CommandResource, ExecutionResource } from '../../../actors/resources/command.ts';
import { followAt, tailedAt, TailReader } from '../../support/api/tail-reader.ts';
import { hangAfter, scaled } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient, type Rest } from '../../support/fleet/rest.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const ADMINS = 3;
const TEST_MS_MAX = 180_000;

const scope = createScope();
let fleet: Fleet;

test.before('three admins and two agents start', async () => {
  fleet = await startFleet(scope, { admins: ADMINS, agents: 2 });
});
test.after.always('they end', () => scope.end());

test.serial('it comes while the command runs, at each admin, and ends with it', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const { rest, others } = await admins();
  const gate = gateOf('ends');
  const execution = await running(rest, `${counting(50)}; ${gate.script}; ${counting(100, 51)}`);
  const readers = fleet.admins.map((admin) => tailed(admin, execution));

  await until('some of it at each admin', () => readers.every(({ text }) => text.includes('line 5\n')));
  const before = await rest.get<ExecutionResource>(`/command_executions/${execution.id}`);
  gate.open();
  await until('its end', () => readers.every(({ end }) => end !== null));

  t.is(others.length, ADMINS - 1);
  t.is(before.status, 'sent', 'it came while the command ran');
  t.deepEqual(
    readers.map(({ text, faults, beganAnew, end }) => ({ text, faults, beganAnew, end })),
    readers.map(() => ({ text: lines(100), faults: [], beganAnew: 0, end: 'completed' })),
  );
});

test.serial('a reader that stops reading in a flood gets all that is kept, and hinders nobody', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const { rest, others } = await admins();
  const [edge = fleet.admin()] = others;
  const flood = await running(rest, 'sleep 1; seq 1 600000; sleep 3');
  const quiet = await running(rest, counting(60), 1);
  const slow = await rawTail(edge, flood);
  slow.socket.pause();
  const beside = tailed(edge, quiet);

  await until('the whole quiet output', () => beside.end !== null);
  slow.socket.resume();
  await until('the end of the flood', () => slow.reader.end !== null, scaled(60_000));
  slow.socket.terminate();
  const stored = await rest.get<ExecutionResource>(`/command_executions/${flood.id}`);

  t.deepEqual([beside.text, beside.faults], [lines(60), []]);
  t.true(stored.output_truncated);
  t.true(
    slow.reader.text === stored.output || slow.reader.text.endsWith('\n600000\n'),
    `${slow.reader.text.length} of it, ending in ${JSON.stringify(slow.reader.text.slice(-20))}`,
  );
});

test.serial(
  'a reader that resumes at another admin from its last id gets the rest without a gap or a repeat',
  async (t) => {
    t.timeout(hangAfter(TEST_MS_MAX));
    const { rest, owner, others } = await admins();
    const gate = gateOf('hops');
    const execution = await running(rest, `${gate.countingUntilOpen}; echo end`);
    const reader = new TailReader();

    for (const admin of [...others, owner, ...others]) {
      const had = reader.text.length;
      const subscription = followAt(scope, admin.url, execution.id, reader);
      await until(`more of it at ${admin.name}`, () => reader.text.length > had + 50);
      subscription.unsubscribe();
    }
    const before = await rest.get<ExecutionResource>(`/command_executions/${execution.id}`);
    gate.open();
    const { output } = await until('its end', async () => {
      const now = await rest.get<ExecutionResource>(`/command_executions/${execution.id}`);
      return now.status === 'completed' && now;
    });
    followAt(scope, (others[0] ?? owner).url, execution.id, reader); // what is stored, from there on
    await until('the rest', () => reader.end !== null);

    t.is(before.status, 'sent', 'it came while the command ran');
    t.deepEqual(
      { text: reader.text, faults: reader.faults, beganAnew: reader.beganAnew, end: reader.end },
      { text: output, faults: [], beganAnew: 0, end: 'completed' },
    );
  },
);

test.serial(
  'it goes on without a gap and without a repeat when its owner, where it is read too, is drained',
  async (t) => {
    t.timeout(hangAfter(TEST_MS_MAX));
    const { rest, owner } = await admins();
    const gate = gateOf('drained');
    const execution = await running(rest, `${gate.countingUntilOpen}; echo end`);
    const readers = fleet.admins.map((admin) => tailed(admin, execution));
    await until('some of it at each', () => readers.every(({ text }) => text.includes('line 5\n')));

    await rest.post(`/admins/${owner.name}/drain`);
    await until('another owner', async () => (await ownership(fleet)).owner !== owner);
    await fleet.settled(await fleet.run('true')); // the agents are there as well
    const had = readers.map(({ text }) => text.length);
    await until('more of it at each', () => readers.every(({ text }, place) => text.length > (had[place] ?? 0) + 100));
    const live = readers.map(({ end }) => end);
    await rest.post(`/admins/${owner.name}/resume`);
    gate.open();
    await until('its end', () => readers.every(({ end }) => end !== null), scaled(60_000));
    const { output } = await rest.get<ExecutionResource>(`/command_executions/${execution.id}`);

    t.deepEqual(live, [null, null, null], 'it came before the end');
    t.deepEqual(
      readers.map(({ text, faults, beganAnew, end }) => ({ text, faults, beganAnew, end })),
      readers.map(() => ({ text: output, faults: [], beganAnew: 0, end: 'completed' })),
    );
  },
);

test.serial('it goes on without a gap and without a repeat after its owner was killed', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const { rest, owner, others } = await admins();
  const gate = gateOf('goes-on');
  const execution = await running(rest, `${gate.countingUntilOpen}; echo end`);
  const readers = others.map((admin) => tailed(admin, execution));
  await until('some of it at both', () => readers.every(({ text }) => text.includes('line 5\n')));

  await owner.kill();
  const had = readers.map(({ text }) => text.length);
  await until('more of it at both', () => readers.every(({ text }, place) => text.length > (had[place] ?? 0) + 100));
  const live = readers.map(({ end }) => end);
  gate.open();
  await until('its end', () => readers.every(({ end }) => end !== null), scaled(60_000));
  const { output } = await rest.get<ExecutionResource>(`/command_executions/${execution.id}`);
  const count = (output ?? '').split('\n').length - 2;

  t.is(output, `${lines(count)}end\n`);
  t.deepEqual(live, [null, null], 'under the new owner too it came before the end');
  t.deepEqual(
    readers.map(({ text, faults, beganAnew, end }) => ({ text, faults, beganAnew, end })),
    readers.map(() => ({ text: output, faults: [], beganAnew: 0, end: 'completed' })),
  );
});

/** A script that prints these lines, one after the other. */
function counting(last: number, first = 1): string {
  return `for n in $(seq ${first} ${last}); do echo "line $n"; sleep 0.05; done`;
}

/** What a script waits at until it is opened, or prints lines until then, so that there are more however late it is. */
function gateOf(name: string) {
  const path = join(fleet.directory, name);
  return {
    script: `while [ ! -e ${path} ]; do sleep 0.02; done`,
    countingUntilOpen: `n=0; while [ ! -e ${path} ]; do n=$((n + 1)); echo "line $n"; sleep 0.05; done`,
    open: () => writeFileSync(path, ''),
  };
}

function lines(count: number): string {
  return Array.from({ length: count }, (_none, place) => `line ${place + 1}\n`).join('');
}

async function admins() {
  const { owner } = await ownership(fleet);
  const others = fleet.admins.filter((admin) => admin !== owner);
  return { owner, others, rest: restClient(() => others[0]?.url ?? '', FLEET_KEYS.MASTER_KEY) };
}

/** An execution that has begun. */
async function running(rest: Rest, text: string, agent = 0): Promise<ExecutionResource> {
  const command = await rest.post<CommandResource>('/commands', {
    command_text: text,
    targeting: { type: 'nodes', node_ids: [fleet.agent(agent).node] },
  });
  return until('that it runs', async () => {
    const [one] = await rest.get<readonly ExecutionResource[]>(`/command_executions?command_id__in=${command.id}`);
    return one?.status === 'sent' ? one : null;
  });
}

function tailed(admin: AdminProgram, { id }: ExecutionResource): TailReader {
  return tailedAt(scope, admin.url, id);
}

/** A tail over a socket that a test can stop reading. */
async function rawTail(admin: AdminProgram, { id }: ExecutionResource) {
  const reader = new TailReader();
  const socket = new WebSocket(`${admin.url.replace('http', 'ws')}/api/trpc`, {
    headers: { authorization: `Bearer ${FLEET_KEYS.API_KEY}` },
  });
  scope.teardown(async () => Promise.resolve(socket.terminate()));
  await new Promise((resolve) => void socket.once('open', resolve));
  socket.on('message', (data: Buffer) => {
    if (data.toString() === 'PING') return;
    const told = JSON.parse(data.toString()) as { result?: { data?: { data?: TailMessage } } };
    if (told.result?.data?.data !== undefined) reader.hear(told.result.data.data);
  });
  socket.send(JSON.stringify({ id: 1, method: 'subscription', params: { path: 'executions.tail', input: { id } } }));
  await until('its beginning', () => reader.status !== null);
  return { reader, socket };
}
