/** `edge webhook deliveries`, `delivery` and `redeliver`. */
import type { Command as Program } from 'commander';
import { limitOption, words } from '../arguments.ts';
import type { Outputs } from '../client.ts';
import { eventTypesOf } from '../event-types.ts';
import { write } from '../output.ts';
import { recordText, rowsText, type Columns } from '../table.ts';
import { sessionOf } from '../session.ts';

type Delivery = Outputs['get_webhook_delivery'];
type Attempt = NonNullable<Delivery['attempts']>[number];

const COLUMNS: Columns<Delivery> = [
  ['ID', 'id'],
  ['WEBHOOK', 'webhook_id'],
  ['TYPE', 'event_type'],
  ['CREATED', 'inserted_at'],
  ['STATUS', 'status'],
  ['TRIES', 'attempt_count'],
  ['ANSWER', 'last_status_code'],
  ['ERROR', 'last_error'],
];

const ATTEMPT_COLUMNS: Columns<Attempt> = [
  ['TRY', 'number'],
  ['AT', 'attempted_at'],
  ['MS', 'duration_ms'],
  ['ANSWER', 'status_code'],
  ['ERROR', 'error'],
  ['BODY', 'response_body'],
];

interface ListFlags {
  readonly status?: readonly string[];
  readonly type?: readonly string[];
  readonly limit: number;
}

/** What was sent, how it went, and sending it again. */
export function addDeliveryCommands(webhook: Program): void {
  webhook
    .command('deliveries [webhook]')
    .description('list deliveries, newest first, of one webhook or of all')
    .option('-s, --status <statuses>', 'only pending, delivered or dropped ones', words)
    .option('-t, --type <types>', 'only of these types of events', words)
    .addOption(limitOption())
    .action(async (id: string | undefined, flags: ListFlags, command: Program) => {
      const { api, list } = sessionOf(command);
      const filters = {
        // one that is not there should be told as such, not listed as empty
        ...(id !== undefined && { webhook_id__in: [(await api.get_webhook.query({ id })).id] }),
        ...(flags.status && { status__in: flags.status as readonly Delivery['status'][] }),
        ...(flags.type && { event_type__in: await eventTypesOf(api, flags.type) }),
      };
      await list(COLUMNS, flags.limit, (page) => api.list_webhook_deliveries.query({ ...filters, ...page }));
    });

  webhook
    .command('delivery <id>')
    .description('show a delivery with all of its tries')
    .action(async (id: string, _flags: object, command: Program) => {
      const { api, record, format } = sessionOf(command);
      const delivery = await api.get_webhook_delivery.query({ id });
      if (format !== 'table') return record(delivery);
      const { attempts = [], ...rest } = delivery;
      return write(
        `${recordText(rest, 'table')}${attempts.length === 0 ? '' : `\n${rowsText(attempts, ATTEMPT_COLUMNS, 'table')}`}`,
      );
    });

  webhook
    .command('redeliver <ids...>')
    .description('send finished deliveries once more, with the same event ids')
    .action(async (ids: readonly string[], _flags: object, command: Program) => {
      const { api, format } = sessionOf(command);
      const sent: Delivery[] = [];
      try {
        for (const id of ids) sent.push(await api.redeliver_webhook_delivery.mutate({ id }));
      } finally {
        if (sent.length > 0) await write(rowsText(sent, COLUMNS, format)); // also what was sent before one could not be
      }
    });
}
