/** One self-update request: how far it is, and what became of each node, by the waves in which they have their turn. */
import { useMemo } from 'preact/hooks';
import type {
  SelfUpdateRequestResource,
  SelfUpdateResult,
  SelfUpdateResultResource,
} from '../../actors/resources/self-update.ts';
import { namesOf, type NamedNode } from '../lists/named-nodes.ts';
import { listParametersOf, listStateOf } from '../lists/query.ts';
import { targetingText } from '../lists/targeting.ts';
import type { Live } from '../live.ts';
import { doneIfConfirmed } from '../parts/acts.tsx';
import { Ago } from '../parts/ago.tsx';
import { Asked } from '../parts/asked.tsx';
import { Elsewhere } from '../parts/elsewhere.tsx';
import { Heading } from '../parts/heading.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import type { PageProps } from '../page-props.ts';
import { usePolled } from '../poll.ts';
import { useLead } from '../parts/there.ts';
import { addressOf } from '../routes.ts';
import { commandLine, curlLine } from '../shell-words.ts';
import { TEXTS } from '../texts.ts';
import { UPDATES } from '../texts/updates.ts';
import { Waves } from './update/waves.tsx';

const T = UPDATES.one;
const FILTERS = ['wave', 'status__in'] as const;

/** Unless it is sorted otherwise. */
const BY_WAVE = 'wave';

/** In the order in which a node goes through them. */
const RESULTS = Object.keys(T.results) as SelfUpdateResult[];

/** How each looks: a shape and a colour beside its word. */
const LOOK: Readonly<Record<SelfUpdateResult, string>> = {
  waiting: '',
  triggered: 'draining',
  updated: 'healthy',
  rolled_back: 'unhealthy',
  failed: 'unreachable',
  skipped: 'gone',
};

/** A result with the name of its node; null: that is gone. */
type Row = SelfUpdateResultResource & { readonly node: NamedNode | null };

/** The page. */
export function UpdatePage({ live, id, search }: PageProps) {
  const state = useMemo(() => listStateOf(search, FILTERS), [search]);
  const lead = useLead();
  const polled = usePolled(() => live.api.get_self_update_request.query({ id }), id);
  const { data, failure } = polled.value;
  const { wave, ...others } = listParametersOf(state);
  const { sort = BY_WAVE } = others;
  // in an answer of the list an id stands for its request; what an address names wrongly is the service's to refuse
  const parameters = { ...others, sort, id, ...(wave !== undefined && { wave: wave as `${number}` }) };
  return (
    <>
      <Heading text={TEXTS.pages.update}>
        {data?.status === 'completed' && (
          <button type="button" class="danger" onClick={() => void remove(live, data, lead)}>
            {T.remove}
          </button>
        )}
      </Heading>
      <Elsewhere
        cli={commandLine('edge update get', id)}
        curl={curlLine(location.origin, `/self_update_requests/${encodeURIComponent(id)}`)}
      />
      {(data === null || failure !== null) && <Asked polled={polled.value} />}
      {data !== null && <Facts request={data} />}
      {data !== null && <Waves request={data} />}
      <h2>{T.nodes}</h2>
      <ListFilters
        state={state}
        address={(end) => addressOf('update', { id, search: end })}
        filters={[
          { name: 'wave', label: T.columns.wave, options: wavesOf(data, state.filters.wave) },
          { name: 'status__in', label: T.result, options: Object.entries(T.results) },
        ]}
      />
      <PagedList
        label={T.nodes}
        state={state}
        address={(end) => addressOf('update', { id, search: end })}
        ask={async () => {
          const answer = await live.api.list_self_update_results.query(parameters);
          const nodes = await namesOf(
            live.api,
            answer.data.map((row) => row.node_id),
          );
          return { ...answer, data: answer.data.map((row): Row => ({ ...row, node: nodes.get(row.node_id) ?? null })) };
        }}
        idOf={(row) => row.node_id}
        groupOf={(row) => (sort === BY_WAVE || sort === `-${BY_WAVE}` ? groupOf(row) : null)}
        detail={(row) => addressOf('node', { id: row.node_id })}
        columns={COLUMNS}
        empty={T.empty}
      />
    </>
  );
}

/** Those to choose from: named by the service, and the one that is chosen. */
function wavesOf(request: SelfUpdateRequestResource | null, chosen = ''): readonly (readonly [string, string])[] {
  const named = (request?.waves ?? []).map(({ wave }) => String(wave));
  const all = chosen === '' || named.includes(chosen) ? named : [chosen, ...named];
  return all.map((wave) => [wave, UPDATES.waves.wave(Number(wave))] as const);
}

function groupOf({ wave }: Row): string {
  return wave === null ? UPDATES.waves.none : UPDATES.waves.wave(wave);
}

function Facts({ request }: { readonly request: SelfUpdateRequestResource }) {
  const { progress, targeting, batch_size: batch, max_failures: failures, health_timeout: seconds } = request;
  return (
    <>
      {progress !== undefined && (
        <ul class="tiles" aria-label={T.progress}>
          {RESULTS.map((result) => (
            <li key={result}>
              <a
                class={`tile ${progress[result] > 0 ? LOOK[result] : ''}`}
                href={addressOf('update', { id: request.id, search: `?status__in=${result}` })}
              >
                <span class="count">{progress[result].toLocaleString('en')}</span>{' '}
                <span class="name">{T.results[result]}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
      <dl class="facts">
        <dt>{UPDATES.status}</dt>
        <dd>
          {UPDATES.statuses[request.status]} {request.status !== 'completed' && <span class="soft">{T.notYet}</span>}
        </dd>
        <dt>{T.targeting}</dt>
        <dd>
          <bdi>{targetingText(targeting)}</bdi>
        </dd>
        <dt>{T.batch}</dt>
        <dd>{batch ?? UPDATES.all}</dd>
        <dt>{T.failures}</dt>
        <dd>{failures ?? T.unlimited}</dd>
        <dt>{T.timeout}</dt>
        <dd>{T.seconds(seconds)}</dd>
        <dt>{T.started}</dt>
        <dd>
          <Ago at={request.inserted_at} />
        </dd>
      </dl>
    </>
  );
}

const COLUMNS: readonly ListColumn<Row>[] = [
  {
    name: 'node',
    title: T.columns.node,
    sort: 'node_id',
    cell: ({ node, node_id: id }) => <bdi>{node?.name ?? id}</bdi>,
  },
  { name: 'wave', title: T.columns.wave, sort: 'wave', isNumber: true, cell: ({ wave }) => wave },
  {
    name: 'result',
    title: T.columns.result,
    sort: 'status',
    cell: ({ status }) => <span class={`status ${LOOK[status]}`}>{T.results[status]}</span>,
  },
  { name: 'from', title: T.columns.from, cell: (row) => <bdi>{row.from_version}</bdi> },
  { name: 'to', title: T.columns.to, cell: (row) => <bdi>{row.to_version}</bdi> },
  { name: 'told', title: T.columns.told, cell: ({ triggered_at: at }) => at !== null && <Ago at={at} /> },
  { name: 'finished', title: T.columns.finished, cell: ({ finished_at: at }) => at !== null && <Ago at={at} /> },
  { name: 'wide', title: T.columns.why, cell: ({ error }) => <bdi>{error}</bdi> },
];

async function remove(
  live: Live,
  { id, targeting }: SelfUpdateRequestResource,
  lead: (address: string) => void,
): Promise<void> {
  const isDone = await doneIfConfirmed(
    {
      title: T.removeTitle,
      text: T.removeText,
      items: [targetingText(targeting)],
      name: id.slice(0, 8), // it has no name
      action: T.remove,
    },
    () => live.api.delete_self_update_request.mutate({ id }),
    T.removed,
  );
  if (isDone) lead(addressOf('updates'));
}
