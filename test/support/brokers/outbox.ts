/** The events that a service has stored, beside those that its JetStream has. */
import type { Fleet } from '../fleet.ts';
import { until } from '../until.ts';
import type { NatsServer } from './nats.ts';
import { storedIn } from './nats-reader.ts';

/** Streams that get something from commands, nodes that enrol, and test events. */
const STREAMS = ['EDGE_NODES_EVENTS', 'EDGE_COMMANDS_EVENTS', 'EDGE_CORE_EVENTS'];

/** An event as the outbox has it. */
export interface OutboxEvent {
  readonly id: string;
  /** The entity that it tells of. */
  readonly subject: string;
}

/** What is stored, in the order of the commits. */
export function outbox(fleet: Pick<Fleet, 'sql'>): Promise<readonly OutboxEvent[]> {
  return fleet.sql<{ id: string; subject: string }>('select id, subject from event order by txid, seq');
}

/** Ids of all that JetStream has, each stream in its order. */
export async function published(server: NatsServer): Promise<readonly string[]> {
  const reader = await server.read();
  const found: string[] = [];
  for (const stream of STREAMS)
    found.push(...(await storedIn(reader, stream)).map((text) => (JSON.parse(text) as { readonly id: string }).id));
  return found;
}

/** Resolves when the channel of the broker has come to the end of the events. */
export async function untilPublished(fleet: Pick<Fleet, 'sql'>): Promise<void> {
  await until('the end of the events at the broker', async () => {
    const [row] = await fleet.sql<{ open: number }>(
      `select count(e.id)::int as open, (select name from admin where id = c.admin_id) as holder, c.lease_until > clock_timestamp() as is_held,
        pg_snapshot_xmin(pg_current_snapshot())::text as settled_before, min(e.txid::text::bigint)::text as next
      from event_channel c left join event e on (e.txid, e.seq) > (c.txid, c.seq) where c.name = 'broker' group by c.name`,
    );
    if (row?.open !== 0) throw new Error(`the channel and what is behind it: ${JSON.stringify(row)}`);
    return true;
  });
}

/**
 * What is wrong with what came of these events: those that are missing, and entities of which they came in another
 * order; none are in both. Repeats are left out, as whoever drops them by their id does.
 */
export function missingOrDisordered(
  events: readonly OutboxEvent[],
  came: readonly string[],
): { readonly missing: readonly string[]; readonly disordered: readonly string[] } {
  const firsts = [...new Set(came)];
  const places = new Map(firsts.map((id, place) => [id, place]));
  const missing = events.flatMap(({ id }) => (places.has(id) ? [] : [id]));
  const bySubject = Map.groupBy(
    events.filter(({ id }) => places.has(id)),
    ({ subject }) => subject,
  );
  const disordered = [...bySubject].flatMap(([subject, ofIt]) => {
    const came = ofIt.map(({ id }) => places.get(id) ?? 0);
    return came.every((place, index) => index === 0 || place > (came[index - 1] ?? 0)) ? [] : [subject];
  });
  return { missing, disordered };
}
