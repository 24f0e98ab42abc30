/** `edge events`. */
import { InvalidArgumentError, type Command as Program } from 'commander';
import { positiveInteger, words } from '../arguments.ts';
import type { Outputs } from '../service/client.ts';
import { ending } from '../until-interrupted.ts';
import { followEvents } from '../output/event-source.ts';
import { eventHeadings, eventText, nodeOf, type Envelope } from '../output/event-text.ts';
import { eventTypeOf, eventTypesOf } from '../names/event-types.ts';
import { NodeNames } from '../output/outputs.ts';
import { tell, write } from '../output/output.ts';
import { plainJson, plainText } from '../output/plain-text.ts';
import { addListCommand } from '../lists.ts';
import type { Table } from '../table/columns.ts';
import { isForPeople } from '../table/format.ts';
import { reasonOf } from '../problem.ts';
import { sessionOf } from '../service/session.ts';

const TYPES: Table<Outputs['list_event_types']['data'][number]> = {
  id: ({ type }) => type,
  columns: [
    ['TYPE', 'type'],
    ['WHEN', 'description', { cut: 20 }],
  ],
};

/** Events of before with which a tail may begin: the service tells no more. */
const LATEST_MAX = 1_000;

/** Events: the types that there are, those that happen, and one to try with. */
export function addEventsCommands(program: Program): void {
  const events = program.command('events').description('what happens in the fleet');

  addListCommand(events, {
    words: 'types',
    description: 'list the types of events',
    table: TYPES,
    read:
      async ({ api }) =>
      (page) =>
        api.list_event_types.query(page),
  });

  events
    .command('explain <type>')
    .description('explain a type of event, with an example')
    .action(async (name: string, _flags: object, command: Program) => {
      const { api, record, format } = sessionOf(command);
      const explained = await api.explain_event_type.query({ type: await eventTypeOf(api, name) });
      await (isForPeople(format)
        ? write(`${plainText(`${explained.type}: ${explained.description}`)}\n\n${plainJson(explained.example, 2)}\n`)
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
    .option('-n, --lines <count>', 'begin with so many of the latest, 1,000 at most', latestCount, 0)
    .action(tail);
}

/** What the service takes. */
function latestCount(text: string): number {
  const count = positiveInteger(text);
  if (count > LATEST_MAX) throw new InvalidArgumentError(`It should be ${LATEST_MAX.toLocaleString('en')} at most.`);
  return count;
}

/** Writes events in the order in which they come, until a signal. A connection that is lost is told of once. */
async function tail(
  flags: { readonly type?: readonly string[]; readonly lines: number },
  command: Program,
): Promise<void> {
  const session = sessionOf(command);
  const types = flags.type === undefined ? null : await eventTypesOf(session.api, flags.type);
  let isLost = false;
  const lost = (how: string): void => {
    if (!isLost) tell(`${how}; trying again`);
    isLost = true;
  };
  const live = session.live({ lost: () => lost(`lost ${session.connection.url}`) });
  const names = new NodeNames(session.api);
  let isHeaded = false;
  let writing = Promise.resolve();
  const show = async (events: readonly Envelope[], before: Promise<void>): Promise<void> => {
    await before;
    const nodes = isForPeople(session.format) ? events.flatMap((one) => nodeOf(one) ?? []) : [];
    const name = await names.of(nodes);
    await write(events.map((event) => eventText(event, session.format, name)).join(''));
  };
  const unwritten = Promise.withResolvers<never>();
  const followed = followEvents(live.api, { types, latest: flags.lines }, ending().signal, {
    told(message) {
      isLost = false;
      // once the headings are there, nothing that happens is missed
      if (!isHeaded) writing = write(eventHeadings(session.format));
      isHeaded = true;
      if (message.type === 'events') writing = show(message.events, writing);
      writing.catch(unwritten.reject);
    },
    refused: (error) => lost(`the service tells no events now (${reasonOf(error)})`),
  });
  try {
    await Promise.race([followed, unwritten.promise]);
    await writing;
  } finally {
    live.close();
  }
}
