/** Types of events by their names. The service knows them; this program may be older or newer. */
import type { Api, Inputs } from '../service/client.ts';
import { nearestOf } from '../../settings/nearest.ts';
import { firstRows } from '../service/pages.ts';
import { EXIT, Problem } from '../problem.ts';

/** A type of event. */
export type EventType = Inputs['create_webhook']['subscribed_events'][number];

/** Most types that are read. */
const TYPES_MAX = 1_000;

/**
 * The types of these names, each once; `all` alone is every type. Refuses a name that is none, and says which there
 * are.
 */
export async function eventTypesOf(api: Api, names: readonly string[]): Promise<readonly EventType[]> {
  const known = await knownTypes(api);
  return names.length === 1 && names[0] === 'all' ? known : [...new Set(names)].map((name) => typeIn(known, name));
}

/** The type of this name. Refuses like {@link eventTypesOf}. */
export async function eventTypeOf(api: Api, name: string): Promise<EventType> {
  return typeIn(await knownTypes(api), name);
}

async function knownTypes(api: Api): Promise<readonly EventType[]> {
  const { rows } = await firstRows(TYPES_MAX, (page) => api.list_event_types.query(page));
  return rows.map(({ type }) => type);
}

function typeIn(known: readonly EventType[], name: string): EventType {
  const found = known.find((type) => type === name);
  if (found !== undefined) return found;
  // the beginning that all of them have is often left out
  const nearest =
    known.find((type) => type === `edge.${name}`) ?? nearestOf(name, known) ?? nearestOf(`edge.${name}`, known);
  throw new Problem(
    `"${name}" is no type of event: ${nearest === null ? 'edge events types lists them' : `did you mean ${nearest}?`}`,
    EXIT.usage,
  );
}
