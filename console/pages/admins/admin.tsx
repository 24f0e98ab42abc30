/** One admin: what it owns, and how to take it out of service for a while. */
import { problemOf } from '../../failure.ts';
import type { AdminProblem, OwnedClusterResource, PeerAdminResource } from '../../../actors/resources/peer-admin.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { Asked } from '../../parts/asked.tsx';
import { confirmed } from '../../parts/confirm.tsx';
import { Elsewhere } from '../../parts/elsewhere.tsx';
import { Heading } from '../../parts/heading.tsx';
import { notify } from '../../parts/notice.tsx';
import { toRow } from '../../parts/row-keys.ts';
import { State } from '../../parts/state.tsx';
import type { PageProps } from '../../page-props.ts';
import { usePolled } from '../../poll.ts';
import { addressIfThere, addressOf } from '../../routes.ts';
import { commandLine, curlLine } from '../../shell-words.ts';
import { TEXTS } from '../../texts.ts';
import { HEALTH } from '../../texts/health.ts';
import { AdminStatus } from './table.tsx';

const T = TEXTS.admins;

/** `id`: its name, or its id. */
export function AdminPage({ live, id }: PageProps) {
  const polled = usePolled(() => live.api.get_peer_admin.query({ name: id }));
  const { data, again } = polled.value;
  return (
    <>
      <Heading text={data?.name ?? id}>{data !== null && <AdminStatus status={data.status} />}</Heading>
      <Elsewhere
        cli={commandLine('edge admin show', id)}
        curl={curlLine(location.origin, `/admins/${encodeURIComponent(id)}`)}
      />
      <Asked polled={polled.value} />
      {data !== null && (
        <>
          <Maintenance admin={data} live={live} done={again} />
          <Facts admin={data} />
          {data.problems !== null && data.problems.length > 0 && <Problems problems={data.problems} />}
          <h2>{T.clusters}</h2>
          {(data.clusters ?? []).length === 0 ? (
            <State text={T.noCluster} />
          ) : (
            <Clusters clusters={data.clusters ?? []} />
          )}
          {data.cluster_count > (data.clusters ?? []).length && (
            <p class="soft">{T.more(data.cluster_count - (data.clusters ?? []).length)}</p>
          )}
        </>
      )}
    </>
  );
}

interface MaintenanceProps {
  readonly admin: PeerAdminResource;
  readonly live: Live;
  readonly done: () => void;
}

/** Draining asks for the name, with all clusters that will move; resuming harms nobody. */
function Maintenance({ admin, live: { api }, done }: MaintenanceProps) {
  const { name, draining_since: since, clusters = [] } = admin;
  const tried = async (act: () => Promise<unknown>, text: string): Promise<void> => {
    try {
      await act();
      notify({ text });
    } catch (error) {
      notify({ text: problemOf(error), kind: 'failed' });
    }
    done();
  };
  const drain = async (): Promise<void> => {
    const items = clusters.map((cluster) => cluster.cluster_name);
    const question = { title: T.drainOf(name), text: T.drains(admin.cluster_count), name, action: T.drain };
    if (!(await confirmed({ ...question, ...(items.length > 0 && { items }), isDangerous: true }))) return;
    await tried(() => api.drain_admin.mutate({ name }), T.drained(name));
  };
  return (
    <p class="actions">
      {since === null ? (
        <button type="button" onClick={() => void drain()}>
          {T.drain}
        </button>
      ) : (
        <>
          <button
            type="button"
            class="primary"
            onClick={() => void tried(() => api.resume_admin.mutate({ name }), T.resumed(name))}
          >
            {T.resume}
          </button>
          <span class="soft">
            {T.draining} <Ago at={since} />
          </span>
        </>
      )}
    </p>
  );
}

function Facts({ admin }: { readonly admin: PeerAdminResource }) {
  const { facts } = T;
  const { link } = admin;
  return (
    <dl class="admin-facts">
      <Fact name={facts.version}>{admin.version}</Fact>
      <Fact name={facts.started}>{admin.started_at !== null && <Ago at={admin.started_at} />}</Fact>
      <Fact name={facts.heard}>{admin.last_checked_in !== null && <Ago at={admin.last_checked_in} />}</Fact>
      <Fact name={facts.url}>{admin.url}</Fact>
      <Fact name={facts.peerUrl}>{admin.peer_url}</Fact>
      <Fact name={facts.nodes}>{T.nodesOf(admin.node_count, admin.room)}</Fact>
      <Fact name={facts.link}>
        {link !== null && (
          <>
            {T.links[link.state]} {link.latency_ms !== null && T.latency(link.latency_ms)} <bdi>{link.reason}</bdi>
          </>
        )}
      </Fact>
    </dl>
  );
}

function Problems({ problems }: { readonly problems: readonly AdminProblem[] }) {
  return (
    <section aria-labelledby="problems">
      <h2 id="problems">{T.problems}</h2>
      <ul>
        {problems.map(({ check, problem }) => (
          <li key={check}>
            <code>{check}</code> <span class="ill">{problem}</span>
            {HEALTH.remedies[check] !== undefined && <p class="soft remedy">{HEALTH.remedies[check]}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  const isEmpty = children === null || children === false;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{isEmpty ? '–' : <bdi>{children}</bdi>}</dd>
    </div>
  );
}

function Clusters({ clusters }: { readonly clusters: readonly OwnedClusterResource[] }) {
  return (
    <div class="scroll" role="region" aria-label={T.clusters} tabIndex={0} onKeyDown={toRow}>
      <table>
        <thead>
          <tr>
            {Object.entries(T.clusterColumns).map(([column, title]) => (
              <th key={column} scope="col" class={column}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {clusters.map(({ cluster_name: name, node_count: nodes, epoch, owned_since: since }) => (
            <tr key={name}>
              <th scope="row">
                <a
                  href={
                    addressIfThere('cluster', { id: name }) ??
                    addressOf('nodes', { search: `?cluster=${encodeURIComponent(name)}` })
                  }
                >
                  {name}
                </a>
              </th>
              <td class="number">{nodes.toLocaleString('en')}</td>
              <td class="number">{epoch}</td>
              <td>{since !== null && <Ago at={since} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
