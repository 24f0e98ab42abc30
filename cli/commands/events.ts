/** `edge events`. */
import type { Command as Program } from 'commander';
import { words } from '../arguments.ts';
import type { Inputs, Outputs } from '../client.ts';
import { rowsText, tell, write, type Columns, type Format } from '../output.ts';
import { sessionOf } from '../session.ts';

type Envelope = Outputs['publish_test_event'];
type EventTypes = NonNullable<Exclude<Inputs['events']['watch'], void>['types']>;

const TYPE_COLUMNS: Columns<Outputs['list_event_types']['data'][number]> = [['TYPE', ({ type }) => type], ['WHEN', ({ description }) => description]];

/** Events: the types that there are, and those that happen. */
export function addEventsCommands(program: Program): void {
  const events = program.command('events').description('what happens in the fleet');

  events.command('types').description('list the types of events').action(async (_flags: object, command: Program) => {
    const { api, list } = sessionOf(command);
    await list(TYPE_COLUMNS, 1_000, (page) => api.list_event_types.query(page));
  });

  events.command('tail').description('show events as they happen, until Ctrl-C')
    .option('-t, --type <types>', 'only of these types', words)
    .action(async (flags: { readonly type?: readonly string[] }, command: Program) => {
      const session = sessionOf(command);
      let isLost = false;
      const live = session.live(() => {
        if (!isLost) tell(`lost ${session.connection.url}; trying again`);
        isLost = true;
      });
      let writing = Promise.resolve();
      try {
        await new Promise<void>((resolve, reject) => {
          process.once('SIGINT', () => resolve());
          process.once('SIGTERM', () => resolve());
          live.api.events.watch.subscribe({ ...(flags.type && { types: flags.type as EventTypes }) }, {
            onData({ data }) {
              isLost = false;
              if (data.type === 'started') return;
              const text = data.events.map((event) => eventText(event, session.format)).join('');
              writing = writing.then(() => write(text));
            },
            onError: reject,
            onComplete: resolve,
          });
        });
        await writing;
      } finally {
        live.close();
      }
    });
}

function eventText(event: Envelope, format: Format): string {
  if (format !== 'table') return `${JSON.stringify(event)}\n`;
  const { node_id: node, cluster_name: cluster, status, exit_code: exitCode } = event.data as Readonly<Record<string, unknown>>;
  const columns = [event.time, event.type, node, cluster, status, exitCode].map((value) => ['', () => value ?? '-'] as const);
  return rowsText([event], columns, 'table').split('\n').slice(1).join('\n');
}
