/**
 * Every event that the product emits, as a subscriber of a running admin gets it from real changes: exact, a
 * CloudEvent, free of secrets, and told at the time of the change.
 */
import test from 'ava';
import { CloudEvent } from 'cloudevents';
import { envelopeOf } from '../../../actors/event-catalogue.ts';
import { EVENT_TYPES, type Envelope, type EventType } from '../../../actors/events.ts';
import { until } from '../../support/until.ts';
import { declareExecutionEvents } from './execution-events.ts';
import { EventsFixture } from './fixture.ts';
import { declareNodeEvents } from './node-events.ts';

/**
 * What later parts of the product will emit. Until then their examples are all there is of them: see
 * test/unit/actors/event-catalogue.test.ts.
 */
const NOT_EMITTED_YET: readonly EventType[] = ['edge.node.update_triggered', 'edge.self_update_request.completed'];

const fixture = EventsFixture.declare();
declareNodeEvents(fixture);
declareExecutionEvents(fixture);

test('a test event comes as it was answered', async (t) => {
  const answered = await fixture.fleet.rest.post<Envelope>('/events/test');

  const event = await fixture.toldOnce('edge.core.test', { requested_at: answered.time });

  t.deepEqual(event, answered);
  t.is(answered.corename, 'plant-7');
});

// Ava runs it beside the others, so it waits for what they bring about.
test('every type that is emitted was seen, and what is not emitted yet is only an example', async (t) => {
  const emitted = EVENT_TYPES.filter((type) => !NOT_EMITTED_YET.includes(type));
  await until('every type', () => emitted.every((type) => fixture.events.some((event) => event.type === type)), 60_000);

  t.log(`by example only, as nothing emits them yet: ${NOT_EMITTED_YET.join(', ')}`);
  t.deepEqual(
    fixture.events.filter(({ type }) => NOT_EMITTED_YET.includes(type)),
    [],
  );
});

test.after.always('all that was told is exact', (t) => {
  for (const event of fixture.events) {
    const parsed = envelopeOf(event.type).safeParse(event);
    t.true(parsed.success, `${event.type}: ${parsed.error?.message ?? ''}`);
    t.true(new CloudEvent(structuredClone(event) as never).validate());
  }
  t.is(new Set(fixture.events.map(({ id }) => id)).size, fixture.events.length);
  const text = JSON.stringify(fixture.events);
  for (const secret of [
    ...fixture.secrets,
    'canary-detail',
    ...fixture.secrets.map((one) => Buffer.from(one).toString('base64')),
  ])
    t.false(text.includes(JSON.stringify(secret).slice(1, -1)), secret);
});
