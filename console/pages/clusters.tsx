/** All clusters, with what they hold and who owns them. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { ClusterResource } from '../../actors/resources/cluster.ts';
import { useCreate } from '../parts/use-create.ts';
import { LIST_FILTERS, LIST_PARAMETERS } from '../lists/parameters.ts';
import { listStateOf } from '../lists/query.ts';
import type { Live } from '../live.ts';
import { Ago } from '../parts/ago.tsx';
import { Field, FormDialog } from '../parts/form-dialog.tsx';
import { Heading } from '../parts/heading.tsx';
import { ListElsewhere } from '../parts/list-elsewhere.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { notify } from '../parts/notice.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import type { PageProps } from '../page-props.ts';
import { usePolled } from '../poll.ts';
import { useLead } from '../parts/there.ts';
import { addressOf } from '../routes.ts';
import { TEXTS } from '../texts.ts';
import { CLUSTERS as T } from '../texts/clusters.ts';

const address = (search: string): string => addressOf('clusters', { search });

/** The list. */
export function ClustersPage({ live, search }: PageProps) {
  const state = useMemo(() => listStateOf(search, LIST_FILTERS.clusters), [search]);
  const isCreating = useSignal(false);
  const owners = usePolled(() => live.api.get_my_admin_cluster.query({}));
  const parameters = LIST_PARAMETERS.clusters(state);
  const create = (
    <button type="button" class="primary" onClick={() => (isCreating.value = true)}>
      {T.create}
    </button>
  );
  return (
    <>
      <Heading text={TEXTS.pages.clusters}>{create}</Heading>
      <p class="lead">{T.lead}</p>
      <ListFilters state={state} address={address} filters={[{ name: 'name', label: T.name, hint: T.nameHint }]} />
      <ListElsewhere page="clusters" state={state} />
      <PagedList
        label={TEXTS.pages.clusters}
        state={state}
        address={address}
        ask={() => live.api.list_clusters.query(parameters)}
        idOf={({ id }) => id}
        detail={({ name: id }) => addressOf('cluster', { id })}
        columns={columnsOf(owners.value.data?.edge_clusters ?? {})}
        empty={T.empty}
      />
      {isCreating.value && <Create live={live} onClose={() => (isCreating.value = false)} />}
    </>
  );
}

function columnsOf(owners: Readonly<Record<string, string>>): readonly ListColumn<ClusterResource>[] {
  const { columns } = T;
  const ownerOf = new Map(Object.entries(owners));
  return [
    { name: 'name', title: columns.name, sort: 'name', cell: ({ name }) => name },
    { name: 'nodes', title: columns.nodes, sort: 'node_count', isNumber: true, cell: (row) => row.node_count },
    {
      name: 'limit',
      title: columns.limit,
      sort: 'node_limit',
      isNumber: true,
      cell: (row) => row.node_limit ?? <span class="soft">{T.noLimit}</span>,
    },
    {
      name: 'owner',
      title: columns.owner,
      cell: ({ name }) => ownerOf.get(name) ?? <span class="soft">{T.nobody}</span>,
    },
    { name: 'ipv4', title: columns.ipv4, cell: (row) => <code>{row.ipv4_range}</code> },
    { name: 'ipv6', title: columns.ipv6, cell: (row) => <code>{row.ipv6_range}</code> },
    { name: 'created', title: columns.created, sort: 'inserted_at', cell: (row) => <Ago at={row.inserted_at} /> },
  ];
}

function Create({ live, onClose }: { readonly live: Live; readonly onClose: () => void }) {
  const { form } = T;
  const lead = useLead();
  const create = useCreate(live.api.create_cluster.mutate);
  return (
    <FormDialog
      title={form.title}
      action={form.action}
      onClose={onClose}
      send={async (valueOf) => {
        const [limit, ipv4, ipv6] = [valueOf('limit'), valueOf('ipv4'), valueOf('ipv6')];
        const { name } = await create({
          name: valueOf('name'),
          ...(limit !== '' && { node_limit: Number(limit) }),
          ...(ipv4 !== '' && { ipv4_range: ipv4 }),
          ...(ipv6 !== '' && { ipv6_range: ipv6 }),
        });
        notify({ text: T.created(name) });
        lead(addressOf('cluster', { id: name }));
      }}
    >
      <Field label={T.name} hint={form.nameHint}>
        <input name="name" required maxLength={24} autocomplete="off" spellcheck={false} />
      </Field>
      <Field label={form.limit} hint={form.limitHint}>
        <input name="limit" type="number" min={1} />
      </Field>
      <Field label={form.ipv4} hint={form.rangeHint}>
        <input name="ipv4" placeholder={form.ipv4Placeholder} autocomplete="off" />
      </Field>
      <Field label={form.ipv6} hint={form.rangeHint}>
        <input name="ipv6" autocomplete="off" />
      </Field>
    </FormDialog>
  );
}
