/** `edge webhook deliveries`, `delivery` and `redeliver`. */
import type { Command as Program } from 'commander';
import { words, wordsOf } from '../arguments.ts';
import type { Outputs } from '../service/client.ts';
import { eventTypesOf } from '../names/event-types.ts';
import { existing, idOf } from '../names/id-names.ts';
import { addListCommand, type ListFlags } from '../lists.ts';
import { write } from '../output/output.ts';
import type { Table } from '../table/columns.ts';
import { isForPeople } from '../table/format.ts';
import { recordText, rowsText } from '../table/text.ts';
import { sessionOf } from '../service/session.ts';

type Delivery = Outputs['get_webhook_delivery'];
type Attempt = NonNullable<Delivery['attempts']>[number];

/** All statuses of a delivery. Source: docs/events.md. */
const STATUSES = ['pending', 'delivered', 'dropped'] as const satisfies readonly Delivery['status'][];

const TABLE: Table<Delivery> = {
  id: ({ id }) => id,
  columns: [
    ['ID', 'id', { id: true }],
    ['WEBHOOK', 'webhook_id', { id: true, drop: 2 }],
    ['TYPE', 'event_type', { cut: 16 }],
    ['CREATED', 'inserted_at', { age: true, sorts: 'inserted_at' }],
    ['STATUS', 'status', { tone: ({ status }) => TONES[status], sorts: 'status' }],
    ['TRIES', 'attempt_count', { drop: 3, sorts: 'attempt_count' }],
    ['ANSWER', 'last_status_code', { drop: 4 }],
    ['ERROR', 'last_error', { cut: 12, drop: 1 }],
  ],
};

const TONES = { pending: 'warn', delivered: 'good', dropped: 'bad' } as const;

const ATTEMPTS: Table<Attempt> = {
  id: ({ number }) => String(number),
  columns: [
    ['TRY', 'number'],
    ['AT', 'attempted_at'],
    ['MS', 'duration_ms'],
    ['ANSWER', 'status_code'],
    ['ERROR', 'error', { cut: 16 }],
    ['BODY', 'response_body', { cut: 8 }],
  ],
};

interface Filters {
  readonly status?: readonly Delivery['status'][];
  readonly type?: readonly string[];
}

/** What was sent, how it went, and sending it again. */
export function addDeliveryCommands(webhook: Program): void {
  addListCommand<Delivery, Filters & ListFlags>(webhook, {
    words: 'deliveries [webhook]',
    description: 'list deliveries, newest first, of one webhook or of all',
    table: TABLE,
    read: async ({ api }, { status, type }, [given]) => {
      const filters = {
        // one that is not there should be told as such, not listed as empty
        ...(given !== undefined && { webhook_id__in: [await webhookOf(given)] }),
        ...(status && { status__in: status }),
        ...(type && { event_type__in: await eventTypesOf(api, type) }),
      };
      return (page) => api.list_webhook_deliveries.query({ ...filters, ...page });

      async function webhookOf(text: string): Promise<string> {
        const id = await idOf(api, 'webhook', text);
        return (await existing('webhook', text, api.get_webhook.query({ id }))).id;
      }
    },
  })
    .option('-s, --status <statuses>', 'only pending, delivered or dropped ones', wordsOf('--status', STATUSES))
    .option('-t, --type <types>', 'only of these types of events', words);

  webhook
    .command('delivery <id>')
    .description('show a delivery with all of its tries; what was sent with -o json')
    .action(async (given: string, _flags: object, command: Program) => {
      const { api, record, format, view } = sessionOf(command);
      const id = await idOf(api, 'delivery', given);
      const delivery = await existing('delivery', given, api.get_webhook_delivery.query({ id }));
      if (!isForPeople(format)) return record(delivery);
      const { attempts = [], event: _sent, ...rest } = delivery;
      return write(
        `${recordText(rest, format)}${attempts.length === 0 ? '' : `\n${rowsText(attempts, ATTEMPTS, view())}`}`,
      );
    });

  webhook
    .command('redeliver <ids...>')
    .description('send finished deliveries once more, with the same event ids')
    .action(async (given: readonly string[], _flags: object, command: Program) => {
      const { api, view } = sessionOf(command);
      const sent: Delivery[] = [];
      try {
        for (const one of given) {
          const id = await idOf(api, 'delivery', one);
          sent.push(await existing('delivery', one, api.redeliver_webhook_delivery.mutate({ id })));
        }
      } finally {
        if (sent.length > 0) await write(rowsText(sent, TABLE, view())); // also what was sent before one could not be
      }
    });
}
