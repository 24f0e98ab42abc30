/** `edge events`. */
import type { Command as Program } from 'commander';
import { words } from '../arguments.ts';
import type { Outputs } from '../client.ts';
import { eventText } from '../event-text.ts';
import { eventTypeOf, eventTypesOf } from '../event-types.ts';
import { tell, write } from '../output.ts';
import type { Columns } from '../table.ts';
import { sessionOf } from '../session.ts';

const TYPE_COLUMNS: Columns<Outputs['list_event_types']['data'][number]> = [
  ['TYPE', 'type'],
  ['WHEN', 'description'],
];

/** Events: the types that there are, those that happen, and one to try with. */
export function addEventsCommands(program: Program): void {
  const events = program.command('events').description('what happens in the fleet');

  events
    .command('types')
    .description('list the types of events')
    .action(async (_flags: object, command: Program) => {
      const { api, list } = sessionOf(command);
      await list(TYPE_COLUMNS, 1_000, (page) => api.list_event_types.query(page));
    });

  events
    .command('explain <type>')
    .description('explain a type of event, with an example')
    .action(async (name: string, _flags: object, command: Program) => {
      const { api, record, format } = sessionOf(command);
      const explained = await api.explain_event_type.query({ type: await eventTypeOf(api, name) });
      await (format === 'table'
        ? write(`${explained.type}: ${explained.description}\n\n${JSON.stringify(explained.example, null, 2)}\n`)
        : record(explained));
    });

  events
    .command('test')
    .description('publish a test event, and show it as it is published')
    .action(async (_flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      await record(await api.publish_test_event.mutate({}));
    });

  events
    .command('tail')
    .description('show events as they happen, until Ctrl-C')
    .option('-t, --type <types>', 'only of these types', words)
    .action(tail);
}

/** Writes events in the order in which they come, until a signal. A connection that is lost is told of once. */
async function tail(flags: { readonly type?: readonly string[] }, command: Program): Promise<void> {
  const session = sessionOf(command);
  const types = flags.type === undefined ? null : await eventTypesOf(session.api, flags.type);
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
      live.api.events.watch.subscribe(
        { ...(types && { types: [...types] }) },
        {
          onData({ data }) {
            isLost = false;
            if (data.type === 'started') return;
            const text = data.events.map((event) => eventText(event, session.format)).join('');
            writing = writing.then(() => write(text));
          },
          onError: reject,
          onComplete: resolve,
        },
      );
    });
    await writing;
  } finally {
    live.close();
  }
}
