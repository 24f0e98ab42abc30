/**
 * Two whole admins between which the way is cut while both live: what the one shows of the other's nodes is late then,
 * and nothing of it is left out.
 */
import test, { type ExecutionContext } from 'ava';
import type { CommandMessage } from '../../../api/feeds/commands.ts';
import { RESYNC_EVERY_MS } from '../../../api/feeds/limits.ts';
import { LINK_SILENCE_MS_MAX } from '../../../transport/admins/limits.ts';
import type { CommandResource } from '../../../actors/resources/command.ts';
import { socketClient, type Client } from '../../support/api/trpc-clients.ts';
import { hangAfter, isCrowded, scaled } from '../../support/busy.ts';
import { openCuttable, type Cuttable } from '../../support/net/cuttable.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient, type Rest } from '../../support/fleet/rest.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

/** What is told over a whole connection is there before this, in ms; what the rows are looked through for is not. */
const TOLD_MS_MAX = 1_000;

const scope = createScope();
let fleet: Fleet;
let owner: Rest;
let edge: Client;
/** The way from the admin that owns nothing to the owner. */
let way: Cuttable;
const labels = new Map<string, Readonly<Record<string, string>>>();
let made = 0;

test.before('two admins start that reach each other by ways that can be cut, and an agent', async () => {
  fleet = await startFleet(scope, { admins: 2, agents: 1 });
  const ways = await Promise.all(fleet.admins.map(({ url }) => openCuttable(scope, () => url)));
  for (const admin of fleet.admins) await admin.kill();
  for (const [place, admin] of fleet.admins.entries()) await admin.start({ ADMIN_PEER_URL: ways[place]?.url ?? '' });
  const found = await until('an owner', () => ownership(fleet));
  owner = restClient(() => found.owner.url, FLEET_KEYS.MASTER_KEY);
  await until('the agent', async () => (await fleet.node()).status === 'healthy');
  way = ways[fleet.admins.indexOf(found.owner)]!;
  edge = socketClient(scope as never, found.other.url, FLEET_KEYS.API_KEY);
  const subscription = edge.nodes.watch.subscribe(
    {},
    {
      onData: ({ data }) => {
        for (const node of data.nodes) if (node.labels !== undefined) labels.set(node.id, node.labels);
      },
    },
  );
  scope.teardown(() => subscription.unsubscribe());
  await until('the connection for news', () => way.open() > 0);
});
test.after.always('they end', () => scope.end());

for (const how of ['broken', 'silent'] as const) {
  test.serial(
    `a way that is ${how}: nodes and commands are shown all the same, and at once when it is mended`,
    async (t) => {
      t.timeout(hangAfter(120_000));
      await isToldAtOnce(t, 'before');

      way.cut(how);
      const command = await owner.post<CommandResource>('/commands', {
        command_text: 'sleep 1; exit 3',
        targeting: { type: 'all' },
      });
      const messages = watch(command);
      await labelled();
      await until('its end', () => last(messages)?.summary.failed === 1);
      way.mend();

      await until('the connection for news', () => way.open() > 0);
      await isToldAtOnce(t, 'after');
    },
  );
}

/** A label that is set at the owner: how long until it is shown elsewhere, in ms. */
async function labelled(): Promise<number> {
  made += 1;
  const label = String(made);
  const { node } = fleet.agent();
  const beganMs = await until('the label to be set', async () => {
    const askedMs = performance.now();
    const { status, text } = await owner.call('PATCH', `/nodes/${node}/labels`, { body: { labels: { made: label } } });
    if (status !== 200) throw new Error(text);
    return askedMs;
  });
  await until('the label', () => labels.get(node)?.['made'] === label, LINK_SILENCE_MS_MAX + 3 * RESYNC_EVERY_MS);
  return performance.now() - beganMs;
}

async function isToldAtOnce(t: ExecutionContext, when: string): Promise<void> {
  const tookMs: number[] = [];
  await until(`news ${when}`, async () => (await labelled()) < scaled(TOLD_MS_MAX)); // it is wanted anew first
  for (let one = 0; one < 5; one += 1) tookMs.push(await labelled());
  const inOrder = tookMs.map(Math.round).toSorted((one, other) => one - other);
  t.log(`${when}: ${inOrder.join(', ')} ms`);
  t.true((isCrowded() ? inOrder[0] : inOrder[2])! < scaled(TOLD_MS_MAX), inOrder.join(' '));
}

function watch({ id }: CommandResource): readonly CommandMessage[] {
  const messages: CommandMessage[] = [];
  const subscription = edge.commands.watch.subscribe(
    { id },
    { onData: ({ data }) => void messages.push(data as CommandMessage) },
  );
  scope.teardown(() => subscription.unsubscribe());
  return messages;
}

function last(messages: readonly CommandMessage[]) {
  const message = messages.at(-1);
  if (message?.type === 'snapshot') return message.command;
  return message?.type === 'changed' ? message : undefined;
}
