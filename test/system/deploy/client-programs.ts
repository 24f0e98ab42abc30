/** What programs of others do with the published client: source, as it is written where the package is installed. */

/** Every module, with its types. What must not compile stands under a line that says so. */
export const CALLS = `
import createRestClient from 'openapi-fetch';
import { createClient, createLiveClient, refusalOf, subscribePatiently, type Refusal } from '@edge-fleet-control/client';
import type { EdgeEvent, EventsMessage, Inputs, Node, Outputs } from '@edge-fleet-control/client/api';
import type { components, paths } from '@edge-fleet-control/client/openapi';
import { verifyDelivery } from '@edge-fleet-control/client/webhooks';

const api = createClient({ url: 'http://localhost', key: null });
export const listed: Promise<Outputs['list_nodes']> = api.list_nodes.query({ status__in: ['healthy'], sort: ['-status'] });
export const all = api.list_nodes.query();
export const filters: Inputs['list_nodes'] = { labels: 'env=prod', page: 2 };
export const run = api.create_command.mutate({ command_text: 'true', targeting: { type: 'all' } }, { signal: AbortSignal.timeout(1) });
export const name = (node: Node): string => node.facts?.hostname ?? node.name;
// @ts-expect-error a status that there is not
void api.list_nodes.query({ status__in: ['up'] });
// @ts-expect-error what reads cannot be done
void api.list_nodes.mutate({});
// @ts-expect-error it needs a targeting
void api.create_command.mutate({ command_text: 'true' });
// @ts-expect-error it needs an input
void api.get_node.query();
// @ts-expect-error no such operation
void api.no_such_operation.query({});

const live = createLiveClient({ url: 'http://localhost', key: 'x' });
subscribePatiently<EventsMessage>(
  (handlers, lastEventId) => live.api.events.watch.subscribe({ types: ['edge.core.test'], lastEventId }, handlers),
  { data: (message) => message.type === 'events' && message.events.map(told), failed: (error): Refusal | null => refusalOf(error) },
).unsubscribe();
live.api.nodes.watch.subscribe({ cluster_name: 'prod' }, {
  onData: ({ id, data }) => [id, data.type === 'snapshot' ? data.nodes.length : data.removed.length],
});
// @ts-expect-error no such type of event
live.api.events.watch.subscribe({ types: ['edge.nothing'] }, {});

function told(event: EdgeEvent): string {
  if (event.type === 'edge.node.status_changed') return event.data.status;
  // @ts-expect-error other events have none
  return event.data.status_reason;
}
const verified = verifyDelivery({ secret: 'x', headers: new Headers(), body: new Uint8Array() });
export const why: readonly string[] = verified.ok ? [told(verified.event)] : verified.problems;

const rest = createRestClient<paths>({ baseUrl: 'http://localhost' });
export async function byRest(): Promise<components['schemas']['Node'] | null> {
  const { data, error } = await rest.GET('/api/v1/nodes/{id}', { params: { path: { id: 'x' } } });
  if (error !== undefined) throw new Error(error.error.message);
  await rest.POST('/api/v1/commands', { body: { command_text: 'true', targeting: { type: 'all' } } });
  // @ts-expect-error no such route
  await rest.GET('/api/v1/nothing', {});
  // @ts-expect-error it needs a body
  await rest.POST('/api/v1/commands', {});
  return data.data;
}
`;

/** The type of the router, for a tRPC client of one's own. */
export const ROUTER = `
import { createTRPCClient, httpLink } from '@trpc/client';
import type { AppRouter } from '@edge-fleet-control/client/router';

const api = createTRPCClient<AppRouter>({ links: [httpLink({ url: 'http://localhost/api/trpc' })] });
export const status: Promise<'healthy' | 'unhealthy' | 'unreachable'> = api.get_node.query({ id: 'x' }).then((node) => node.status);
api.commands.watch.subscribe({ id: 'x' }, { onData: ({ data }) => data.type });
// @ts-expect-error it needs an id
void api.get_node.query({});
`;

/** That the types of the package are those of the service. \`root\`: the directory of its sources. */
export function sameTypes(root: string): string {
  return `
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';
import type { AppRouter } from '${root}api/trpc/router.ts';
import type { EdgeEvent as RealEvent } from '${root}api/client/api.ts';
import type { Catalogue } from '${root}api/catalogue.ts';
import type { CommandMessage as RealCommand } from '${root}api/feeds/commands.ts';
import type { EventsMessage as RealEvents } from '${root}api/feeds/events.ts';
import type { NodesMessage as RealNodes } from '${root}api/feeds/nodes-messages.ts';
import type { TailMessage as RealTail } from '${root}api/feeds/tail.ts';
import type {
  CommandMessage, EdgeEvent, EventsMessage, Inputs, NodesMessage, Operations, Outputs, TailMessage,
} from '@edge-fleet-control/client/api';

type RealInputs = inferRouterInputs<AppRouter>;
type RealOutputs = inferRouterOutputs<AppRouter>;
type None<Wrong> = [Wrong] extends [never] ? true : Wrong;
type Same<One, Other> = [One, Other] extends [Other, One] ? true : [One, Other];
type Held<Given, Wanted> = [Given] extends [Wanted] ? true : { given: Given; wanted: Wanted };

/** What the service answers is what the package says, and what the package lets in is what the service takes. */
export const answers: None<{ [N in keyof Outputs]: [RealOutputs[N]] extends [Outputs[N]] ? never : N }[keyof Outputs]> = true;
/** Lists that nobody changes are taken too: nothing else is made of them than JSON. */
type Writable<T> = T extends readonly (infer One)[] ? Writable<One>[] : T extends object ? { [K in keyof T]: Writable<T[K]> } : T;
export const inputs: None<{ [N in keyof Inputs]: [Writable<Inputs[N]>] extends [RealInputs[N]] ? never : N }[keyof Inputs]> = true;
export const names: Same<keyof Operations, keyof Catalogue> = true;
export const kinds: None<{ [N in keyof Operations]: Operations[N]['kind'] extends Catalogue[N]['kind'] ? never : N }[keyof Operations]> = true;
export const events: Held<RealEvent, EdgeEvent> = true;
export const nodes: Held<RealNodes, NodesMessage> = true;
export const commands: Held<RealCommand, CommandMessage> = true;
export const tails: Held<RealTail, TailMessage> = true;
export const watched: Same<RealEvents['type'], EventsMessage['type']> = true;
`;
}

/** A program that uses it: reads, runs, follows and is refused, line by line as JSON, until it is told to end. */
export const PROGRAM = `
import { createClient, createLiveClient, refusalOf, subscribePatiently } from '@edge-fleet-control/client';

const connection = { url: process.env.EDGE_URL, key: process.env.EDGE_API_KEY };
const say = (what, value) => process.stdout.write(JSON.stringify([what, value]) + '\\n');
const api = createClient(connection);
const live = createLiveClient(connection, { lost: () => say('lost', null) });

say('nodes', (await api.list_nodes.query({ status__in: ['healthy'] })).data.map((node) => node.status));
for (const [what, call] of [
  ['missing', () => api.get_node.query({ id: '01a1ff65-6c50-7000-8998-fa490292f846' })],
  ['wrong', () => api.create_cluster.mutate({ name: 'No Name' })],
  ['unauthorized', () => createClient({ ...connection, key: 'a-wrong-key-of-a-program' }).list_nodes.query()],
  ['nowhere', () => createClient({ url: 'http://127.0.0.1:1', key: null }).list_nodes.query()],
])
  await call().catch((error) => say(what, refusalOf(error)));

const command = await api.create_command.mutate({ command_text: 'echo it runs', targeting: { type: 'all' } });
await new Promise((resolve, reject) => {
  const watching = subscribePatiently((handlers, lastEventId) => live.api.commands.watch.subscribe({ id: command.id, lastEventId }, handlers), {
    failed: reject,
    data(message) {
      const summary = message.type === 'snapshot' ? message.command.summary : message.summary;
      if (summary.completed < summary.total) return;
      watching.unsubscribe();
      resolve();
    },
  });
});
const { data: [execution] } = await api.list_command_executions.query({ command_id__in: [command.id] });
say('output', execution.output);

const seen = new Set();
subscribePatiently((handlers, lastEventId) => live.api.events.watch.subscribe({ types: ['edge.core.test'], lastEventId }, handlers), {
  failed: (error) => say('failed', String(error)),
  data(message) {
    if (message.type === 'started') return say('started', null);
    for (const event of message.events) say(seen.has(event.id) ? 'twice' : 'event', event.data.message === undefined ? null : seen.add(event.id).size);
  },
});
process.stdin.resume().once('end', () => process.exit(0));
`;
