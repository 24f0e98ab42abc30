/**
 * Every live feed, at the owner of the nodes and at an admin that owns nothing: both show the same while it happens.
 * Made from the router, so that a new feed is held to it at once.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import type { CommandResource, ExecutionResource } from '../../../actors/resources/command.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { CommandMessage } from '../../../api/feeds/commands.ts';
import { createRouter } from '../../../api/trpc/router.ts';
import { socketClient, type Client } from '../../support/api/trpc-clients.ts';
import { hangAfter } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const scope = createScope();
let fleet: Fleet;
/** Of the owner, and of the admin that owns nothing. */
let clients: readonly [owner: Client, other: Client];

test.before('two admins and two agents start', async () => {
  fleet = await startFleet(scope, { admins: 2, agents: 2 });
  const { owner, other } = await ownership(fleet);
  const client = (url: string): Client => socketClient(scope as never, url, FLEET_KEYS.API_KEY);
  clients = [client(owner.url), client(other.url)];
});
test.after.always('they end', () => scope.end());

/** What is watched: what it shows now, by what was told so far. */
type Shown = () => unknown;

/** A feed: opened at one admin, and what happens then. It says what both must show in the end. */
interface Played {
  readonly open: (client: Client) => Shown;
  /** `shows` resolves when both admins show this. */
  readonly happen: (shows: (what: string, isShown: (shown: unknown) => boolean) => Promise<void>) => Promise<void>;
}

/** One play a feed. */
const PLAYS: Readonly<Record<string, () => Promise<Played>>> = {
  'nodes.watch': async () =>
    Promise.resolve({
      open: nodesShown,
      happen: async (shows) => {
        const { node } = fleet.agent();
        const labelled = (label: string) => (shown: unknown) =>
          (shown as Record<string, NodeResource>)[node]?.labels['play'] === label;
        await shows('both nodes', (shown) => Object.keys(shown as object).length === 2);
        for (const label of ['one', 'two']) {
          const sent = { body: { labels: { play: label } } };
          await settledAnswer(() => fleet.rest.call('PATCH', `/nodes/${node}/labels`, sent));
          await shows(`the label ${label}`, labelled(label));
        }
      },
    }),
  'commands.watch': async () => {
    const { command, end } = await waiting();
    return {
      open: (client) => commandShown(client, command),
      happen: async (shows) => {
        const summary = (shown: unknown) => (shown as { summary?: CommandResource['summary'] }).summary;
        await shows('that both run', (shown) => summary(shown)?.sent === 2);
        end();
        await shows('their ends', (shown) => summary(shown)?.succeeded === 2);
        await fleet.settled(command);
        await settledAnswer(() => fleet.rest.call('DELETE', `/commands/${command.id}`));
        await shows('that it is deleted', (shown) => (shown as { isRemoved: boolean }).isRemoved);
      },
    };
  },
  'executions.tail': async () => {
    const { command, end } = await waiting();
    const [execution] = await fleet.executionsOf(command);
    return {
      open: (client) => outputShown(client, execution?.id ?? ''),
      happen: async (shows) => {
        await shows('what is written while it runs', (shown) => (shown as { text: string }).text === 'begun\n');
        end();
        await shows('its end', (shown) => (shown as { ending: string }).ending === 'completed');
        await shows('all of it', (shown) => (shown as { text: string }).text === 'begun\ndone\n');
      },
    };
  },
  'events.watch': async () =>
    Promise.resolve({
      open: eventsShown,
      happen: async (shows) => {
        await shows('that it began', (shown) => (shown as { isStarted: boolean }).isStarted);
        for (const count of [1, 2, 3]) {
          await fleet.rest.post('/events/test');
          await shows(`${count} events`, (shown) => (shown as { ids: readonly string[] }).ids.length === count);
        }
      },
    }),
};

for (const feed of feedsOfRouter()) {
  test.serial(`${feed} shows the same at both`, async (t) => {
    t.timeout(hangAfter(60_000));
    const play = PLAYS[feed];
    if (play === undefined) throw new Error(`nobody plays ${feed}: add it to PLAYS`);
    const { open, happen } = await play();
    const shown = clients.map(open);

    await happen(async (what, isShown) => {
      await until(`${what} at both`, () => {
        const now = shown.map((one) => one());
        if (!now.every(isShown)) throw new Error(JSON.stringify(now).slice(0, 2_000));
        return true;
      });
    });

    const isSame = until('the same at both', () => {
      const [there, here] = shown.map((one) => one());
      if (!isDeepStrictEqual(here, there)) throw new Error(`${JSON.stringify(here)} is not ${JSON.stringify(there)}`);
      return true;
    });
    await t.notThrowsAsync(isSame);
  });
}

/** The names of all subscriptions. */
function feedsOfRouter(): readonly string[] {
  // oxlint-disable-next-line no-underscore-dangle -- tRPC's own name for what a router knows of itself
  const procedures = createRouter({} as never)._def.procedures as unknown as Readonly<
    Record<string, { readonly _def: { readonly type: string } }>
  >;
  return Object.entries(procedures)
    .filter(([, { _def }]) => _def.type === 'subscription')
    .map(([name]) => name);
}

/** A command on both nodes that has written something and waits for its end. */
async function waiting(): Promise<{ readonly command: CommandResource; readonly end: () => void }> {
  const signal = join(fleet.directory, `end-${performance.now()}`);
  const command = await fleet.run(`echo begun; until [ -e ${signal} ]; do sleep 0.05; done; echo done`);
  await fleet.settled(command, (executions) => executions.every(({ status }) => status === 'sent'));
  return { command, end: () => writeFileSync(signal, '') };
}

function nodesShown(client: Client): Shown {
  const nodes: Record<string, NodeResource> = {};
  const subscription = client.nodes.watch.subscribe(
    {},
    {
      onData: ({ data }) => {
        if (data.type === 'snapshot' && data.page === 1) for (const id of Object.keys(nodes)) delete nodes[id];
        for (const node of data.nodes) nodes[node.id] = { ...nodes[node.id], ...node } as NodeResource;
        if (data.type === 'changed') for (const id of data.removed) delete nodes[id];
      },
    },
  );
  scope.teardown(() => subscription.unsubscribe());
  return () =>
    // When something was heard of a node is told with other changes of it only.
    Object.fromEntries(Object.entries(nodes).map(([id, node]) => [id, { ...node, last_seen_at: null }]));
}

function commandShown(client: Client, { id }: CommandResource): Shown {
  const executions: Record<string, Partial<ExecutionResource>> = {};
  const now: { summary?: CommandResource['summary']; isRemoved: boolean } = { isRemoved: false };
  const take = (data: CommandMessage): void => {
    if (data.type === 'removed') now.isRemoved = true;
    else {
      now.summary = data.type === 'snapshot' ? data.command.summary : data.summary;
      for (const execution of data.executions) executions[execution.id] = { ...executions[execution.id], ...execution };
    }
  };
  const subscription = client.commands.watch.subscribe({ id }, { onData: ({ data }) => take(data) });
  scope.teardown(() => subscription.unsubscribe());
  return () => ({ ...now, executions: Object.entries(executions).toSorted(([one], [two]) => (one < two ? -1 : 1)) });
}

function outputShown(client: Client, id: string): Shown {
  const now = { text: '', ending: null as string | null };
  const subscription = client.executions.tail.subscribe(
    { id },
    {
      onData: ({ data }) => {
        if (data.type === 'output') now.text = now.text.slice(0, data.offset) + data.text;
        if (data.type === 'end') now.ending = data.status;
      },
    },
  );
  scope.teardown(() => subscription.unsubscribe());
  return () => ({ ...now });
}

function eventsShown(client: Client): Shown {
  const now = { isStarted: false, ids: [] as string[] };
  const subscription = client.events.watch.subscribe(
    { types: ['edge.core.test'] },
    {
      onData: ({ data }) => {
        if (data.type === 'started') now.isStarted = true;
        else now.ids.push(...data.events.map((event) => event.id));
      },
    },
  );
  scope.teardown(() => subscription.unsubscribe());
  return () => ({ ...now, ids: [...now.ids] });
}
