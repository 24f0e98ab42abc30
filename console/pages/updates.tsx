/** Self-update requests, and the releases that there are. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { SelfUpdateRequestResource, SelfUpdateStatus } from '../../actors/resources/self-update.ts';
import { LIST_FILTERS, LIST_PARAMETERS } from '../lists/parameters.ts';
import { listStateOf } from '../lists/query.ts';
import { targetingText } from '../lists/targeting.ts';
import { Ago } from '../parts/ago.tsx';
import { Heading } from '../parts/heading.tsx';
import { ListElsewhere } from '../parts/list-elsewhere.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import type { PageProps } from '../page-props.ts';
import { addressOf } from '../routes.ts';
import { TEXTS } from '../texts.ts';
import { UPDATES as T } from '../texts/updates.ts';
import { CreateUpdate } from './create-update.tsx';
import { Releases } from './releases.tsx';
import { updateStartsOf } from './update/starts.ts';

const address = (search: string): string => addressOf('updates', { search });

/** How a request stands: a shape, a colour and a word. */
const LOOK: Readonly<Record<SelfUpdateStatus, string>> = { pending: '', processing: 'draining', completed: 'healthy' };

/** The list. */
export function UpdatesPage({ live, search }: PageProps) {
  const state = useMemo(() => listStateOf(search, LIST_FILTERS.updates), [search]);
  const isCreating = useSignal(false);
  const starts = updateStartsOf(live);
  const parameters = LIST_PARAMETERS.updates(state);
  return (
    <>
      <Heading text={TEXTS.pages.updates}>
        <button type="button" class="primary" onClick={() => (isCreating.value = true)}>
          {T.create}
        </button>
      </Heading>
      <p class="lead">{T.lead}</p>
      <ListFilters
        state={state}
        address={address}
        filters={[{ name: 'status__in', label: T.status, options: Object.entries(T.statuses) }]}
      />
      <ListElsewhere page="updates" state={state} />
      <PagedList
        label={TEXTS.pages.updates}
        state={state}
        address={address}
        ask={() => live.api.list_self_update_requests.query(parameters)}
        idOf={({ id }) => id}
        detail={({ id }) => addressOf('update', { id })}
        columns={COLUMNS}
        empty={T.empty}
        round={starts.round.value}
      />
      <Releases live={live} />
      {isCreating.value && (
        <CreateUpdate
          live={live}
          form={starts.form.value}
          onWanted={(wanted) => starts.start(wanted)}
          onClose={() => (isCreating.value = false)}
        />
      )}
    </>
  );
}

const COLUMNS: readonly ListColumn<SelfUpdateRequestResource>[] = [
  { name: 'started', title: T.columns.started, sort: 'inserted_at', cell: (row) => <Ago at={row.inserted_at} /> },
  {
    name: 'status',
    title: T.columns.status,
    sort: 'status',
    cell: ({ status }) => <span class={`status ${LOOK[status]}`}>{T.statuses[status]}</span>,
  },
  { name: 'wide', title: T.columns.targets, cell: ({ targeting }) => <bdi>{targetingText(targeting)}</bdi> },
  { name: 'batch', title: T.columns.batch, isNumber: true, cell: ({ batch_size: size }) => size ?? T.all },
  { name: 'told', title: T.columns.told, isNumber: true, cell: ({ summary }) => summary?.triggered },
  { name: 'failed', title: T.columns.failed, isNumber: true, cell: ({ summary }) => summary?.failed },
];
