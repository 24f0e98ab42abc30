/** Keys with which machines join, and the line that installs. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { EnrollmentKeyResource } from '../../actors/resources/enrollment-key.ts';
import { nowMs } from '../clock.ts';
import { typedNameOf } from '../fleet/node-actions.ts';
import { letsIn } from '../lists/install-line.ts';
import { labelsText } from '../lists/labels.ts';
import { KEY_STATES, LIST_FILTERS, LIST_PARAMETERS } from '../lists/parameters.ts';
import { listStateOf } from '../lists/query.ts';
import type { Live } from '../live.ts';
import { doneIfConfirmed, read } from '../parts/acts.tsx';
import { Ago } from '../parts/ago.tsx';
import { Heading } from '../parts/heading.tsx';
import { ListElsewhere } from '../parts/list-elsewhere.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import type { PageProps } from '../page-props.ts';
import { agoOf, exactly } from '../relative-time.ts';
import { addressOf } from '../routes.ts';
import { TEXTS } from '../texts.ts';
import { ENROLLMENT_KEYS as T } from '../texts/enrollment-keys.ts';
import { CreateKey } from './create-key.tsx';
import { InstallDialog } from './install-dialog.tsx';

const address = (search: string): string => addressOf('enrollment-keys', { search });

/** The list. */
export function EnrollmentKeysPage({ live, fleet, search }: PageProps) {
  const state = useMemo(() => listStateOf(search, LIST_FILTERS['enrollment-keys']), [search]);
  const isCreating = useSignal(false);
  const round = useSignal(0);
  const changed = (): void => {
    round.value += 1;
  };
  const shown = useSignal<string | null>(null);
  const showLine = async ({ id }: EnrollmentKeyResource): Promise<void> => {
    shown.value = (await live.now.get_enrollment_key.query({ id })).key; // masked in lists
  };
  const parameters = LIST_PARAMETERS['enrollment-keys'](state);
  return (
    <>
      <Heading text={TEXTS.pages['enrollment-keys']}>
        <button type="button" class="primary" onClick={() => (isCreating.value = true)}>
          {T.create}
        </button>
      </Heading>
      <p class="lead">{T.lead}</p>
      <ListFilters
        state={state}
        address={address}
        filters={[
          { name: 'name', label: T.name, hint: T.nameHint },
          { name: 'cluster_name', label: T.cluster, hint: T.clusterHint },
          { name: 'state', label: T.state, options: KEY_STATES.map((one) => [one, T.states[one]] as const) },
        ]}
      />
      <ListElsewhere page="enrollment-keys" state={state} />
      <PagedList
        label={TEXTS.pages['enrollment-keys']}
        state={state}
        address={address}
        ask={() => live.api.list_enrollment_keys.query(parameters)}
        idOf={({ id }) => id}
        columns={columnsOf(live, changed, (key) => void read(() => showLine(key)))}
        empty={T.empty}
        round={round.value}
      />
      {shown.value !== null && <InstallDialog live={live} secret={shown.value} onClose={() => (shown.value = null)} />}
      {isCreating.value && (
        <CreateKey
          live={live}
          fleet={fleet}
          cluster={wholeName(state.filters.cluster_name)}
          onMade={changed}
          onClose={() => (isCreating.value = false)}
        />
      )}
    </>
  );
}

/** Of a filter; empty where it means several clusters. */
function wholeName(filter = ''): string {
  return filter.includes('*') ? '' : filter;
}

function columnsOf(
  live: Live,
  changed: () => void,
  show: (key: EnrollmentKeyResource) => void,
): readonly ListColumn<EnrollmentKeyResource>[] {
  const { columns } = T;
  return [
    {
      name: 'name',
      title: columns.name,
      sort: 'name',
      cell: ({ name }) => (name === null ? <span class="soft">{T.unnamed}</span> : <bdi>{name}</bdi>),
    },
    {
      name: 'cluster',
      title: columns.cluster,
      sort: 'cluster_name',
      cell: ({ cluster_name: name }) => <a href={addressOf('cluster', { id: name })}>{name}</a>,
    },
    { name: 'uses', title: columns.uses, sort: 'uses_remaining', isNumber: true, cell: (key) => usesOf(key) },
    { name: 'expires', title: columns.expires, sort: 'expired_at', cell: (key) => <Expiry at={key.expired_at} /> },
    {
      name: 'used',
      title: columns.used,
      sort: 'last_used_at',
      cell: ({ last_used_at: at }) => (at === null ? <span class="soft">{T.never}</span> : <Ago at={at} />),
    },
    { name: 'labels', title: columns.labels, cell: ({ labels }) => <bdi>{labelsText(labels)}</bdi> },
    { name: 'created', title: columns.created, sort: 'inserted_at', cell: (key) => <Ago at={key.inserted_at} /> },
    {
      name: 'actions',
      title: columns.actions,
      cell: (key) => (
        <>
          {letsIn(key, nowMs.value) && (
            <button type="button" data-opens aria-label={T.lineOf(nameOf(key))} onClick={() => show(key)}>
              {T.line}
            </button>
          )}
          <button type="button" aria-label={T.removeOf(nameOf(key))} onClick={() => void remove(live, key, changed)}>
            {T.remove}
          </button>
        </>
      ),
    },
  ];
}

function usesOf({ uses_remaining: uses }: EnrollmentKeyResource): string {
  return uses === null ? T.unlimited : uses === 0 ? T.spent : uses.toLocaleString('en');
}

/** What lies ahead, in its largest unit. */
function Expiry({ at }: { readonly at: string | null }) {
  if (at === null) return <span class="soft">{T.never}</span>;
  const isOver = Date.parse(at) <= nowMs.value;
  const left = agoOf(new Date(nowMs.value).toISOString(), Date.parse(at));
  return (
    <time datetime={at} title={exactly(at)}>
      {isOver ? T.expired : T.in(left)}
    </time>
  );
}

/** By its beginning where it has no name: keys of one cluster are told apart. */
function nameOf({ name, id }: EnrollmentKeyResource): string {
  return name ?? id.slice(0, 13);
}

async function remove(live: Live, key: EnrollmentKeyResource, changed: () => void): Promise<void> {
  const name = nameOf(key);
  const isDone = await doneIfConfirmed(
    {
      title: T.removeTitle(name),
      text: T.removeText,
      items: [`${name} · ${key.cluster_name}`],
      name: typedNameOf({ name, id: key.id }),
      action: T.remove,
    },
    () => live.api.delete_enrollment_key.mutate({ id: key.id }),
    T.removed,
  );
  if (isDone) changed();
}
