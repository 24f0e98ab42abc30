/** Live feeds of an admin that does not own the nodes: they show what happens there at once, and never end on less. */
import test, { type ExecutionContext } from 'ava';
import type { CommandMessage } from '../../../api/feeds/commands.ts';
import { EVENTS_NET_MS, RESYNC_EVERY_MS } from '../../../api/feeds/limits.ts';
import type { CommandResource } from '../../../actors/resources/command.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { socketClient, type Client } from '../../support/api/trpc-clients.ts';
import { hangAfter, scaled } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { expireIn, muchLater } from '../../support/fleet/expiry.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient, settledAnswer, type Rest } from '../../support/fleet/rest.ts';
import { giveSweeps } from '../../support/fleet/task-holder.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

/** Below every look at the rows (1 s for executions, 2 s for events, 5 s for nodes). */
const TOLD_MS_MAX = 1_000;

const scope = createScope();
let fleet: Fleet;
let owner: Rest;
/** Of the admin that owns nothing. */
let edge: Client;
/** What its feed of nodes shows, by id, and the types of events that it told. */
const nodes = new Map<string, NodeResource>();
const events: string[] = [];

test.before('two admins and two agents start, and somebody watches at the admin that owns nothing', async () => {
  fleet = await startFleet(scope, { admins: 2, agents: 2, env: { NODE_UNREACHABLE_AFTER_MS: '1000' } });
  const found = await ownership(fleet);
  owner = restClient(() => found.owner.url, FLEET_KEYS.MASTER_KEY);
  edge = socketClient(scope as never, found.other.url, FLEET_KEYS.API_KEY);
  watchNodes();
  await watchEvents();
  await until('both nodes', () => nodes.size === 2);
});
test.after.always('they end', () => scope.end());

test.serial('a change of a node is shown at once', async (t) => {
  t.timeout(hangAfter(60_000));
  const { node } = fleet.agent();
  const tookMs: number[] = [];
  for (let made = 0; made < 12; made += 1) {
    const began = performance.now();
    const label = { body: { labels: { made: String(made) } } };
    t.is((await settledAnswer(() => owner.call('PATCH', `/nodes/${node}/labels`, label))).status, 200);
    await until('the label', () => nodes.get(node)?.labels['made'] === String(made));
    tookMs.push(performance.now() - began);
  }

  isFast(t, 'until the feed of nodes showed it', tookMs);
});

test.serial('a command is shown until its end, at once', async (t) => {
  t.timeout(hangAfter(60_000));
  const tookMs: number[] = [];
  for (let made = 0; made < 6; made += 1) {
    const command = await owner.post<CommandResource>('/commands', {
      command_text: `sleep 1; exit 3`,
      targeting: { type: 'all' },
    });
    const messages = watchCommand(command);
    await until('the end', () => last(messages)?.summary.failed === 2);
    const shownAtMs = Date.now();
    const [row] = await fleet.sql<{ ms: number }>(
      `select extract(epoch from max(completed_at))::float8 * 1000 as ms from command_execution where command_id = $1`,
      [command.id],
    );
    tookMs.push(shownAtMs - (row?.ms ?? 0));
  }

  isFast(t, 'until the feed of the command showed its end', tookMs);
});

test.serial('events are told at once', async (t) => {
  t.timeout(hangAfter(60_000));
  const tookMs: number[] = [];
  for (let made = 0; made < 6; made += 1) {
    const before = events.length;
    const began = performance.now();
    await owner.post('/commands', { command_text: 'true', targeting: { type: 'all' } });
    await until('an event', () => events.length > before);
    tookMs.push(performance.now() - began);
  }

  t.true(EVENTS_NET_MS > TOLD_MS_MAX);
  isFast(t, 'until the feed of events told it', tookMs);
});

test.serial('a command that is deleted at the owner ends its feed', async (t) => {
  t.timeout(hangAfter(60_000));
  const command = await owner.post<CommandResource>('/commands', { command_text: 'true', targeting: { type: 'all' } });
  await fleet.settled(command);
  const messages = watchCommand(command);
  await until('the snapshot', () => messages.length > 0);

  const began = performance.now();
  t.is((await settledAnswer(() => owner.call('DELETE', `/commands/${command.id}`))).status, 204);
  await until('its end', () => messages.at(-1)?.type === 'removed');

  t.log(`until the feed ended: ${Math.round(performance.now() - began)} ms`);
});

test.serial('what a sweep of another admin expires is shown', async (t) => {
  t.timeout(hangAfter(60_000));
  const { agents } = fleet;
  const away = agents[1];
  await away?.kill();
  await fleet.reaches(away!, 'unreachable');
  await until('that it is away', () => nodes.get(away?.node ?? '')?.status === 'unreachable');
  const command = await owner.post<CommandResource>('/commands', {
    command_text: 'true',
    targeting: { type: 'nodes', node_ids: [away?.node] },
    expired_at: muchLater(),
  });
  const messages = watchCommand(command);
  await until('the snapshot', () => messages.length > 0);
  await giveSweeps(fleet, (await ownership(fleet)).owner);
  await expireIn(fleet, command);

  await until('its expiry', () => last(messages)?.summary.expired === 1);
  t.pass();
});

test.serial('a node that is deleted at the owner leaves the feed', async (t) => {
  t.timeout(hangAfter(60_000));
  const node = fleet.agent(1).node;
  const began = performance.now();
  t.is((await settledAnswer(() => owner.call('DELETE', `/nodes/${node}`))).status, 204);
  await until('that it is gone', () => !nodes.has(node));
  t.log(`until the feed left it out: ${Math.round(performance.now() - began)} ms`);
});

test.serial('after the owner was killed the feeds show what the rows say', async (t) => {
  t.timeout(hangAfter(120_000));
  const { owner: killed, other } = await ownership(fleet);
  const command = await owner.post<CommandResource>('/commands', {
    command_text: 'sleep 1',
    targeting: { type: 'all' },
  });
  const messages = watchCommand(command);
  const { node } = fleet.agent();
  await until(
    'the label to be set',
    async () =>
      (await owner.call('PATCH', `/nodes/${node}/labels`, { body: { labels: { last: 'word' } } })).status === 200,
  );
  await killed.kill();

  await until('the end of the command', () => last(messages)?.summary.completed === 1, 60_000);
  await until('the label', () => nodes.get(node)?.labels['last'] === 'word', scaled(2 * RESYNC_EVERY_MS));

  const rest = restClient(() => other.url, FLEET_KEYS.MASTER_KEY);
  // it may be shown as it was before the kill: the rows have to say so as well
  const isHealthy = until('that it is healthy again', async () => {
    const stored = await rest.get<NodeResource>(`/nodes/${node}`);
    const shown = nodes.get(node)?.status;
    if (stored.status !== 'healthy' || shown !== 'healthy') throw new Error(`${stored.status}, shown as ${shown}`);
    return true;
  });
  await t.notThrowsAsync(isHealthy);
});

function watchNodes(): void {
  const subscription = edge.nodes.watch.subscribe(
    {},
    {
      onData: ({ data }) => {
        if (data.type === 'snapshot' && data.page === 1) nodes.clear();
        for (const node of data.nodes) nodes.set(node.id, { ...nodes.get(node.id), ...node } as NodeResource);
        if (data.type === 'changed') for (const id of data.removed) nodes.delete(id);
      },
    },
  );
  scope.teardown(async () => Promise.resolve(subscription.unsubscribe()));
}

function watchEvents(): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const subscription = edge.events.watch.subscribe(
    {},
    {
      onData: ({ data }) => {
        if (data.type === 'started') resolve();
        else events.push(...data.events.map(({ type }) => type));
      },
      onError: reject,
    },
  );
  scope.teardown(async () => Promise.resolve(subscription.unsubscribe()));
  return promise;
}

/** All that the feed of a command tells. */
function watchCommand({ id }: CommandResource): readonly CommandMessage[] {
  const messages: CommandMessage[] = [];
  const subscription = edge.commands.watch.subscribe(
    { id },
    { onData: ({ data }) => void messages.push(data as CommandMessage) },
  );
  scope.teardown(async () => Promise.resolve(subscription.unsubscribe()));
  return messages;
}

/** The summary that was told last. */
function last(messages: readonly CommandMessage[]) {
  const message = messages.at(-1);
  if (message?.type === 'snapshot') return message.command;
  return message?.type === 'changed' ? message : undefined;
}

/** Half of them were told, and not found by a look at the rows. */
function isFast(t: ExecutionContext, what: string, tookMs: readonly number[]): void {
  const inOrder = tookMs.map(Math.round).toSorted((one, other) => one - other);
  const median = inOrder[Math.floor(inOrder.length / 2)] ?? Infinity;
  t.log(`${what}: ${median} ms (p50 of ${inOrder.length}), ${inOrder.at(-1)} ms at most`);
  t.true(median < scaled(TOLD_MS_MAX), inOrder.join(' '));
}
