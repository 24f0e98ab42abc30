/** What happened to a node: its status over the last day as a bar, and its events as they were published. */
import type { Envelope } from '../../../actors/events.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { nowMs } from '../../clock.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { Asked } from '../../parts/asked.tsx';
import { usePolled } from '../../poll.ts';
import { durationOf } from '../../quantities.ts';
import { NODE } from '../../texts/node.ts';
import { TEXTS } from '../../texts.ts';
import { EventPages, useNodeEvents } from './event-pages.tsx';
import { COUNTED_MAX, happened, HISTORY_TYPES, stretchesOf, type Changes, type Stretch } from './happened.ts';
import { Section } from './section.tsx';

/** Events that are shown at a time. */
const EVENTS_MAX = 25;

/** Changes of the status behind the bar: the most that one page of a list has. */
const CHANGES_MAX = 100;

/** What the bar spans, in ms. */
const SPAN_MS = 86_400_000;

const T = NODE.history;

/** Asked anew whenever the node changed, and now and then. */
export function History({ live, node }: { readonly live: Live; readonly node: NodeResource }) {
  const { id } = node;
  const { page, polled } = useNodeEvents(live, {
    node: id,
    types: HISTORY_TYPES,
    pageSize: EVENTS_MAX,
    key: node.updated_at,
  });
  const changes = usePolled(
    () =>
      live.api.list_node_events.query({
        node_id: id,
        type__in: ['edge.node.status_changed'],
        page_size: CHANGES_MAX,
        counted_max: COUNTED_MAX,
      }),
    node.status_since,
  );
  return (
    <Section id="history" title={T.title}>
      {changes.value.data !== null && <StatusBar node={node} changes={changesOf(changes.value.data)} />}
      {(polled.data === null || polled.failure !== null) && <Asked polled={polled} />}
      {polled.data !== null && (
        <>
          {polled.data.data.length === 0 && <p class="soft">{T.none}</p>}
          <ol class="events">
            {polled.data.data.map((event) => (
              <EventLine key={event.id} event={event} />
            ))}
          </ol>
          <EventPages label={T.title} page={page} pagination={polled.data.pagination} />
        </>
      )}
    </Section>
  );
}

function changesOf({
  data,
  pagination,
}: {
  readonly data: readonly Envelope[];
  readonly pagination: { readonly total_count: number };
}): Changes {
  return { data, isWhole: pagination.total_count <= data.length };
}

function EventLine({ event }: { readonly event: Envelope }) {
  return (
    <li>
      <details>
        <summary>
          <Ago at={event.time} /> <bdi>{happened(event)}</bdi>
        </summary>
        <pre tabIndex={0} aria-label={event.type}>
          <code>{JSON.stringify(event, null, 2)}</code>
        </pre>
      </details>
    </li>
  );
}

function StatusBar({ node, changes }: { readonly node: NodeResource; readonly changes: Changes }) {
  const sinceMs = Math.max(nowMs.value - SPAN_MS, Date.parse(node.inserted_at));
  const stretches = stretchesOf(changes, node.status, sinceMs, nowMs.value);
  return (
    <figure class="status-bar">
      <div aria-hidden="true">
        {stretches.map((stretch) => (
          <span
            key={stretch.fromMs}
            class={stretch.status}
            style={{ flexGrow: stretch.toMs - stretch.fromMs }}
            title={`${TEXTS.statuses[stretch.status]}, ${durationOf((stretch.toMs - stretch.fromMs) / 1_000)}`}
          />
        ))}
      </div>
      <figcaption class="soft">{T.bar(durationOf((nowMs.value - sinceMs) / 1_000), sharesOf(stretches))}</figcaption>
    </figure>
  );
}

/** The bar as words. */
function sharesOf(stretches: readonly Stretch[]): string {
  const total = stretches.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  return (['healthy', 'unhealthy', 'unreachable'] as const)
    .map((status) => {
      const ms = stretches.reduce((sum, one) => (one.status === status ? sum + one.toMs - one.fromMs : sum), 0);
      return { status, ms, share: total === 0 ? 0 : (ms / total) * 100 };
    })
    .filter(({ ms }) => ms > 0)
    .map(({ status, share }) => `${TEXTS.statuses[status].toLowerCase()} ${share.toFixed(share < 99.95 ? 1 : 0)} %`)
    .join(', ');
}
