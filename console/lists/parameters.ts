/** What each page that is a list asks the API for, from what stands in its address. Pure, but for the time. */
import type { EventType } from '../../actors/events.ts';
import { anywhere, listParametersOf, type ListState } from './query.ts';
import { troubleFilters } from './webhook-trouble.ts';

/** States of an enrolment key, as the API calls them. */
export const KEY_STATES = ['is_never_used', 'is_spent', 'is_expired', 'is_unlimited'] as const;

/** Of deliveries, of one webhook or of all. */
const DELIVERY_FILTERS = ['status__in', 'event_type'] as const;

/** Filters of each list, as its address has them. Those of one webhook or SSH username are lists of what it has. */
export const LIST_FILTERS = {
  clusters: ['name'],
  groups: ['name'],
  aliases: ['name', 'cluster_name', 'node_id__in'],
  'enrollment-keys': ['cluster_name', 'name', 'state'],
  ssh: ['username', 'cluster_name', 'key_name', 'has_password', 'node_id__in'],
  'ssh-username': [],
  webhooks: ['url', 'event_type', 'trouble'],
  webhook: DELIVERY_FILTERS,
  deliveries: DELIVERY_FILTERS,
  recordings: ['username', 'node_id__in'],
  updates: ['status__in'],
  commands: ['command_text', 'has_failed', 'has_open'],
  executions: [
    'output',
    'status__in',
    'exit_code__gte',
    'exit_code',
    'completed_at__gte',
    'completed_at__lte',
    'cluster_name',
    'node_id__in',
    'command_id__in',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A page that is a list. */
export type ListPage = keyof typeof LIST_FILTERS;

/** A filter of one. */
export type FilterOf<Page extends ListPage> = (typeof LIST_FILTERS)[Page][number];

/** What somebody wants to see of one. */
export type StateOf<Page extends ListPage> = ListState<FilterOf<Page>>;

/** What the API is asked by each. What an address names wrongly is the service's to refuse. */
export const LIST_PARAMETERS = {
  clusters: (state: StateOf<'clusters'>) => worded(listParametersOf(state), 'name'),
  groups: (state: StateOf<'groups'>) => worded(listParametersOf(state), 'name'),
  aliases: (state: StateOf<'aliases'>) => worded(listParametersOf(state), 'name'),
  'enrollment-keys': (list: StateOf<'enrollment-keys'>) => {
    const { state, ...others } = worded(listParametersOf(list), 'name');
    const asked = KEY_STATES.find((one) => one === state);
    return { ...others, ...(asked !== undefined && { [asked]: true }) };
  },
  ssh: (state: StateOf<'ssh'>) => {
    const { has_password: password, ...others } = worded(listParametersOf(state), 'username', 'key_name');
    return { ...others, ...(password !== undefined && { has_password: password === 'true' }) };
  },
  'ssh-username': (state: StateOf<'ssh-username'>) => listParametersOf(state),
  webhooks: (state: StateOf<'webhooks'>) => {
    const { trouble, ...others } = ofEvents(worded(listParametersOf(state), 'url'));
    return { ...others, ...troubleFilters(trouble, Date.now()) };
  },
  webhook: (state: StateOf<'webhook'>) => ofEvents(listParametersOf(state)),
  deliveries: (state: StateOf<'deliveries'>) => ofEvents(listParametersOf(state)),
  recordings: (state: StateOf<'recordings'>) => listParametersOf(state),
  updates: (state: StateOf<'updates'>) => listParametersOf(state),
  commands: (state: StateOf<'commands'>) => {
    const { has_failed: failed, has_open: open, ...others } = worded(listParametersOf(state), 'command_text');
    return {
      ...others,
      ...(failed !== undefined && { has_failed: failed === 'true' }),
      ...(open !== undefined && { has_open: open === 'true' }),
    };
  },
  executions: (state: StateOf<'executions'>) => worded(listParametersOf(state), 'output'),
} as const satisfies { readonly [Page in ListPage]: (state: StateOf<Page>) => object };

function ofEvents<Parameters extends { readonly event_type?: string }>({ event_type: type, ...others }: Parameters) {
  return { ...others, ...(type !== undefined && { event_type: type as EventType }) };
}

/** The same with what is typed into these fields found anywhere. */
function worded<Parameters extends object>(
  parameters: Parameters,
  ...names: readonly (keyof Parameters & string)[]
): Parameters {
  const fields = new Set<string>(names);
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]: [string, unknown]) => [
      name,
      fields.has(name) && typeof value === 'string' ? anywhere(value) : value,
    ]),
  ) as Parameters;
}
