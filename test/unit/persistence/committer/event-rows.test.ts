/** Events on their way into rows. */
import test from 'ava';
import type { DomainEvent } from '../../../../actors/event-catalogue.ts';
import {
  eventStatements,
  serializedEvents,
  STATEMENT_CHARS_MAX,
} from '../../../../persistence/committer/event-rows.ts';

const QUARTER = STATEMENT_CHARS_MAX / 4;

/** Its data has so many characters. */
function eventOf(chars: number): DomainEvent {
  const data = { message: '', requested_at: '' };
  const rest = chars - JSON.stringify(data).length;
  return { type: 'edge.core.test', subject: 's', atMs: 0, data: { ...data, message: 'x'.repeat(rest) } };
}

async function groupsOf(events: readonly DomainEvent[]) {
  const groups = [];
  for await (const group of serializedEvents(events)) groups.push(group);
  return groups;
}

test('events are worded in their order, as many at a time as one statement takes, and one that is larger by itself', async (t) => {
  const events = [STATEMENT_CHARS_MAX + 1, 100, QUARTER, QUARTER, QUARTER, QUARTER, QUARTER].map(eventOf);

  const groups = await groupsOf(events);

  t.deepEqual(
    groups.map((group) => group.length),
    [1, 4, 2],
  );
  t.deepEqual(
    groups.flat().map(({ event }) => event),
    events,
  );
  for (const group of groups) t.is(eventStatements(group).length, 1);
});

test('a thousand small events are one statement, and none are none', async (t) => {
  const groups = await groupsOf(Array.from({ length: 1_000 }, () => eventOf(800)));

  t.is(groups.length, 1);
  t.deepEqual(await groupsOf([]), []);
});
