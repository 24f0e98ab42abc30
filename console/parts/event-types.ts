/** Types of events, for whoever chooses among them. */
import type { EventType } from '../../actors/events.ts';
import type { Live } from '../live.ts';
import { usePolled } from '../poll.ts';

/** All of them: there are fewer. */
const EVENT_TYPES_MAX = 100;

/** Their names; none until they are known. */
export function useEventTypes({ api }: Live): readonly EventType[] {
  const { data } = usePolled(() => api.list_event_types.query({ page_size: EVENT_TYPES_MAX })).value;
  return data?.data.map(({ type }) => type) ?? [];
}
