/** All groups: which nodes are meant, under a name. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { GroupResource } from '../../actors/resources/group.ts';
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
import { GROUPS as T } from '../texts/groups.ts';
import { CreateGroup } from './create-group.tsx';

const address = (search: string): string => addressOf('groups', { search });

/** The list. */
export function GroupsPage({ live, search }: PageProps) {
  const state = useMemo(() => listStateOf(search, LIST_FILTERS.groups), [search]);
  const isCreating = useSignal(false);
  const parameters = LIST_PARAMETERS.groups(state);
  return (
    <>
      <Heading text={TEXTS.pages.groups}>
        <button type="button" class="primary" onClick={() => (isCreating.value = true)}>
          {T.create}
        </button>
      </Heading>
      <p class="lead">{T.lead}</p>
      <ListFilters state={state} address={address} filters={[{ name: 'name', label: T.name, hint: T.nameHint }]} />
      <ListElsewhere page="groups" state={state} />
      <PagedList
        label={TEXTS.pages.groups}
        state={state}
        address={address}
        ask={() => live.api.list_groups.query(parameters)}
        idOf={({ id }) => id}
        detail={({ name: id }) => addressOf('group', { id })}
        columns={COLUMNS}
        empty={T.empty}
      />
      {isCreating.value && <CreateGroup live={live} onClose={() => (isCreating.value = false)} />}
    </>
  );
}

const COLUMNS: readonly ListColumn<GroupResource>[] = [
  { name: 'name', title: T.columns.name, sort: 'name', cell: ({ name }) => name },
  { name: 'wide', title: T.columns.targets, cell: ({ targeting }) => <bdi>{targetingText(targeting)}</bdi> },
  { name: 'wide description', title: T.columns.description, cell: ({ description }) => <bdi>{description}</bdi> },
  { name: 'created', title: T.columns.created, sort: 'inserted_at', cell: (row) => <Ago at={row.inserted_at} /> },
];
