/** One cluster: what it holds, how it is set, and how its members reach each other. */
import { useSignal } from '@preact/signals';
import { Fragment } from 'preact';
import type { ClusterResource } from '../../actors/resources/cluster.ts';
import { nodesAddress, STATUSES, WHOLE_FLEET } from '../fleet/query.ts';
import type { Live } from '../live.ts';
import { doneIfConfirmed } from '../parts/acts.tsx';
import { Ago } from '../parts/ago.tsx';
import { Asked } from '../parts/asked.tsx';
import { Elsewhere } from '../parts/elsewhere.tsx';
import { Field, FormDialog } from '../parts/form-dialog.tsx';
import { Heading } from '../parts/heading.tsx';
import { notify } from '../parts/notice.tsx';
import { Status } from '../parts/status.tsx';
import type { PageProps } from '../page-props.ts';
import { usePolled } from '../poll.ts';
import { useLead } from '../parts/there.ts';
import { addressOf } from '../routes.ts';
import { commandLine, curlLine } from '../shell-words.ts';
import { CLUSTERS as T } from '../texts/clusters.ts';
import { ClusterPaths } from './cluster-paths.tsx';

const O = T.one;

/** Groups that are looked through for those that name a cluster. */
const GROUPS_MAX = 100;

/** What is asked of one. */
interface Known {
  readonly cluster: ClusterResource;
  readonly groups: readonly string[];
  readonly counts: readonly number[];
  readonly owner: string | null;
}

async function read(api: Live['api'], name: string): Promise<Known> {
  const [cluster, groups, mine, ...counts] = await Promise.all([
    api.get_cluster.query({ name }),
    api.list_groups.query({ page_size: GROUPS_MAX, sort: 'name' }),
    api.get_my_admin_cluster.query({}),
    ...STATUSES.map(async (status) => {
      const { pagination } = await api.list_nodes.query({ cluster_name: name, status__in: status, page_size: 1 });
      return pagination.total_count;
    }),
  ]);
  return {
    cluster,
    counts,
    owner: new Map(Object.entries(mine.edge_clusters)).get(name) ?? null,
    groups: groups.data
      .filter(({ targeting }) => targeting.cluster_names?.includes(name) === true)
      .map((group) => group.name),
  };
}

/** The page. `id`: its name. */
export function ClusterPage({ live, id: name }: PageProps) {
  const lead = useLead();
  const polled = usePolled(() => read(live.api, name), name);
  const isChanging = useSignal(false);
  const { data, failure, again } = polled.value;
  return (
    <>
      <Heading text={name}>
        <button type="button" onClick={() => (isChanging.value = true)}>
          {O.change}
        </button>
        <button
          type="button"
          class="danger"
          onClick={() => void remove(live, name, data?.cluster.node_count ?? 0, lead)}
        >
          {O.remove}
        </button>
      </Heading>
      <Elsewhere
        cli={commandLine('edge cluster get', name)}
        curl={curlLine(location.origin, `/clusters/${encodeURIComponent(name)}`)}
      />
      {(data === null || failure !== null) && <Asked polled={polled.value} />}
      {data !== null && <Facts known={data} />}
      {data !== null && <ClusterPaths live={live} name={name} />}
      {isChanging.value && (
        <FormDialog
          title={O.change}
          action={O.changeAction}
          onClose={() => (isChanging.value = false)}
          send={async (valueOf) => {
            const limit = valueOf('limit');
            await live.api.update_cluster.mutate({ name, node_limit: limit === '' ? null : Number(limit) });
            notify({ text: O.changed(name) });
            again();
          }}
        >
          <Field label={T.form.limit} hint={T.form.limitHint}>
            <input name="limit" type="number" min={1} defaultValue={String(data?.cluster.node_limit ?? '')} />
          </Field>
        </FormDialog>
      )}
    </>
  );
}

function Facts({ known: { cluster, counts, groups, owner } }: { readonly known: Known }) {
  const { name } = cluster;
  return (
    <>
      <ul class="tiles">
        {STATUSES.map((status, index) => (
          <li key={status}>
            <a
              class={`tile ${(counts[index] ?? 0) > 0 ? status : ''}`}
              href={nodesAddress({ ...WHOLE_FLEET, cluster: name, statuses: [status] })}
            >
              <span class="count">{counts[index]?.toLocaleString('en')}</span>{' '}
              <span class="name">
                <Status status={status} />
              </span>
            </a>
          </li>
        ))}
      </ul>
      <h2>{O.settings}</h2>
      <dl class="facts">
        <dt>{O.nodes}</dt>
        <dd>
          {cluster.node_count} · {T.columns.limit.toLowerCase()} {cluster.node_limit ?? T.noLimit} ·{' '}
          <a href={nodesAddress({ ...WHOLE_FLEET, cluster: name })}>{O.allNodes}</a>
        </dd>
        <dt>{T.columns.owner}</dt>
        <dd>{owner ?? T.nobody}</dd>
        <dt>{O.network}</dt>
        <dd>
          <code>{cluster.ipv4_range}</code> <code>{cluster.ipv6_range}</code>
        </dd>
        <dt>{O.domain}</dt>
        <dd>
          <code>{cluster.vpn_domain}</code>
        </dd>
        <dt>{T.columns.created}</dt>
        <dd>
          <Ago at={cluster.inserted_at} />
        </dd>
        <dt>{O.keys}</dt>
        <dd>
          <a
            href={addressOf('enrollment-keys', {
              search: `?${new URLSearchParams({ cluster_name: name }).toString()}`,
            })}
          >
            {O.keysOf}
          </a>
        </dd>
        <dt>{O.groups}</dt>
        <dd>{groups.length === 0 ? O.noGroups : <GroupLinks names={groups} />}</dd>
      </dl>
    </>
  );
}

function GroupLinks({ names }: { readonly names: readonly string[] }) {
  return names.map((name, index) => (
    <Fragment key={name}>
      {index > 0 && ', '}
      <a href={addressOf('group', { id: name })}>{name}</a>
    </Fragment>
  ));
}

async function remove(live: Live, name: string, nodeCount: number, lead: (address: string) => void): Promise<void> {
  if (nodeCount > 0) {
    notify({ text: O.notEmpty(nodeCount), kind: 'failed' });
    return;
  }
  const isDone = await doneIfConfirmed(
    { title: O.removeTitle(name), text: O.removeText, name, action: O.remove },
    () => live.api.delete_cluster.mutate({ name }),
    O.removed(name),
  );
  if (isDone) lead(addressOf('clusters'));
}
