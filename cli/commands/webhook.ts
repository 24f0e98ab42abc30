/** `edge webhook`. */
import type { Command as Program } from 'commander';
import { several, words } from '../arguments.ts';
import type { Outputs } from '../service/client.ts';
import { eventTypeOf, eventTypesOf } from '../names/event-types.ts';
import { tell } from '../output/output.ts';
import { existing, idOf } from '../names/id-names.ts';
import { addListCommand, type ListFlags } from '../lists.ts';
import type { Table } from '../table/columns.ts';
import { EXIT, Problem } from '../problem.ts';
import { sessionOf } from '../service/session.ts';
import { addSecretOptions, givenSecret, newSecret, type SecretFlags } from '../webhook-receiver/secret.ts';
import { addressProblem } from '../webhook-receiver/subscription.ts';
import { addDeliveryCommands } from './webhook-deliveries.ts';
import { addListenCommand } from './webhook-listen.ts';

/** Types that a row of the table names; of more it says how many. */
const NAMED_TYPES_MAX = 2;

type Webhook = Outputs['list_webhooks']['data'][number];

const TABLE: Table<Webhook> = {
  id: ({ id }) => id,
  columns: [
    ['ID', 'id', { id: true }],
    ['URL', 'url', { cut: 20, sorts: 'url' }],
    ['CREATED', 'inserted_at', { age: true, drop: 1, sorts: 'inserted_at' }],
    [
      'EVENTS',
      ({ subscribed_events: types }) => (types.length > NAMED_TYPES_MAX ? `${types.length} types` : types.join(',')),
      { cut: 16, drop: 2 },
    ],
  ],
};

interface Filters {
  readonly to?: string;
  readonly on?: string;
  readonly waitingSince?: string;
  readonly droppedSince?: string;
}

interface CreateFlags extends SecretFlags {
  readonly on?: readonly string[];
  readonly all?: boolean;
  readonly header?: readonly string[];
}

const HELP = `
Examples:
  edge webhook create https://example.com/hook --on edge.node.status_changed
  edge webhook create https://example.com/hook --all --secret-file secret --header 'Authorization: Bearer abc'
  edge webhook listen --on all                a webhook to this terminal, for as long as it runs
  edge webhook deliveries --status dropped    what did not arrive`;

/** Webhooks: create, list, look at, remove; what was delivered, and a receiver to try them with. */
export function addWebhookCommands(program: Program): void {
  const webhook = program.command('webhook').description('where events are sent, signed').addHelpText('after', HELP);

  addListCommand<Webhook, Filters & ListFlags>(webhook, {
    description: 'list webhooks',
    table: TABLE,
    read: async ({ api }, { to, on, waitingSince, droppedSince }) => {
      const filters = {
        ...(to !== undefined && { url: to }),
        ...(on !== undefined && { event_type: await eventTypeOf(api, on) }),
        ...(waitingSince !== undefined && { waiting_since__lte: waitingSince }),
        ...(droppedSince !== undefined && { dropped_at__gte: droppedSince }),
      };
      return (page) => api.list_webhooks.query({ ...filters, ...page });
    },
  })
    .option('--to <pattern>', 'only to such URLs (with * as wildcard)')
    .option('--on <type>', 'only those that this type of event is sent to')
    .option('--waiting-since <date>', 'only those with a delivery that has waited since then or longer')
    .option('--dropped-since <date>', 'only those with a delivery that was given up then or later');

  webhook
    .command('get <id>')
    .alias('show')
    .description('show a webhook')
    .action(async (given: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      const id = await idOf(api, 'webhook', given);
      await record(await existing('webhook', given, api.get_webhook.query({ id })));
    });

  addSecretOptions(
    webhook
      .command('create <url>')
      .description('have events sent to a URL; without a secret of yours one is made and shown once'),
  )
    .option('--on <types>', 'the types of events, such as edge.node.status_changed, or all', words)
    .option('--all', 'all types that there are now')
    .option(
      '--header <header>',
      "'Name: value', sent with each delivery and never shown; may be given several times",
      several,
    )
    .action(create);

  webhook
    .command('rm <ids...>')
    .description('remove webhooks: their deliveries end at once')
    .action(async (given: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const one of given) {
        const id = await idOf(api, 'webhook', one);
        await existing('webhook', one, api.delete_webhook.mutate({ id }));
      }
    });

  addDeliveryCommands(webhook);
  addListenCommand(webhook);
}

async function create(url: string, flags: CreateFlags, command: Program): Promise<void> {
  const { api, record, connection } = sessionOf(command);
  const headers = headersOf(flags.header ?? []);
  const given = givenSecret(flags);
  const secret = given ?? newSecret();
  const types = await eventTypesOf(api, wantedTypes(flags));
  const created = await api.create_webhook
    .mutate({ url, secret, subscribed_events: [...types], headers })
    .catch((error: unknown) => {
      throw addressProblem(error, connection);
    });
  await record(given === null ? { ...created, secret } : created);
  if (given === null) tell('the secret is shown only now: give it to whoever verifies what arrives');
}

function wantedTypes({ on, all }: CreateFlags): readonly string[] {
  if (on !== undefined && all === true) throw new Problem('say either --on TYPE[,TYPE] or --all', EXIT.usage);
  if (on === undefined && all !== true)
    throw new Problem('say which events: --on TYPE[,TYPE] or --all; edge events types lists them', EXIT.usage);
  return on ?? ['all'];
}

/** Refuses what is none by its number only: values of headers are secrets, also where the colon was forgotten. */
function headersOf(given: readonly string[]): Readonly<Record<string, string>> {
  const headers = new Map<string, readonly [name: string, value: string]>();
  for (const [index, text] of given.entries()) {
    const [, name, value] = /^([^\s:]+):\s*(.*?)\s*$/su.exec(text) ?? [];
    if (name === undefined || value === undefined)
      throw new Problem(`--header number ${index + 1} is none: it should be like 'Name: value'`, EXIT.usage);
    if (headers.has(name.toLowerCase())) throw new Problem(`--header ${name} is there twice`, EXIT.usage);
    headers.set(name.toLowerCase(), [name, value]);
  }
  return Object.fromEntries(headers.values());
}
