/** Events as they happen, with their envelopes. */
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Envelope } from '../../actors/events.ts';
import { EventFeed, type FeedState } from '../lists/event-feed.ts';
import { EVENTS_DRAWN_MAX, EVENTS_KEPT_MAX, isMatch, subjectsOf, wordsOf } from '../lists/events.ts';
import { listStateOf } from '../lists/query.ts';
import { link, type Live } from '../live.ts';
import { done } from '../parts/acts.tsx';
import { Ago } from '../parts/ago.tsx';
import { Elsewhere } from '../parts/elsewhere.tsx';
import { Heading } from '../parts/heading.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { toRow } from '../parts/row-keys.ts';
import { State } from '../parts/state.tsx';
import type { PageProps } from '../page-props.ts';
import { usePolled } from '../poll.ts';
import { addressOf } from '../routes.ts';
import { commandLine, feedLine } from '../shell-words.ts';
import { TEXTS } from '../texts.ts';
import { EVENTS as T } from '../texts/events.ts';

const FILTERS = ['q', 'type'] as const;

/** All types: there are fewer. */
const TYPES_MAX = 100;

const address = (search: string): string => addressOf('events', { search });

/** The page. The search looks through what came; the type is what the service is asked for. */
export function EventsPage({ live, search }: PageProps) {
  const list = useMemo(() => listStateOf(search, FILTERS), [search]);
  const { type = '', q = '' } = list.filters;
  const feed = useMemo(() => new EventFeed(live.api, type), [live, type]);
  useEffect(() => {
    feed.start();
    return () => feed.stop();
  }, [feed]);
  const types = usePolled(() => live.api.list_event_types.query({ page_size: TYPES_MAX }));
  const explained = new Map<string, string>(types.value.data?.data.map((one) => [one.type, one.description]) ?? []);
  const opened = useSignal<Envelope | null>(null);
  const kept = feed.kept.value;
  const found = useMemo(() => kept.filter((event) => isMatch(event, q)), [kept, q]);
  return (
    <>
      <Heading text={TEXTS.pages.events}>
        <Controls live={live} feed={feed} />
      </Heading>
      <p class="lead">{explained.get(type) ?? T.lead}</p>
      <ListFilters
        state={list}
        address={address}
        filters={[
          { name: 'q', label: T.search, hint: T.searchHint },
          { name: 'type', label: T.type, options: [...explained.keys()].map((one) => [one, one] as const) },
        ]}
      />
      <Elsewhere
        cli={commandLine('edge events tail', '-n', `${EVENTS_DRAWN_MAX}`, ...(type === '' ? [] : ['-t', type]))}
        curl={feedLine(location.origin, 'events.watch', {
          ...(type !== '' && { types: [type] }),
          latest: EVENTS_DRAWN_MAX,
        })}
      >
        <p class="soft">
          {T.untilEnded} {q !== '' && TEXTS.elsewhere.withoutWords}
        </p>
      </Elsewhere>
      <Standing state={feed.state.value} feed={feed} count={T.kept(found.length, kept.length, EVENTS_KEPT_MAX)} />
      {found.length > 0 && <Table events={found} open={(event) => (opened.value = event)} />}
      {found.length === 0 && feed.state.value.kind !== 'failed' && (
        <State text={kept.length > 0 ? T.none : type === '' ? T.waiting : T.waitingForType}>
          {kept.length === 0 && <p>{T.waitingNext}</p>}
        </State>
      )}
      {opened.value !== null && (
        <EnvelopeDialog
          event={opened.value}
          explained={explained.get(opened.value.type) ?? null}
          onClose={() => (opened.value = null)}
        />
      )}
    </>
  );
}

function Controls({ live, feed }: { readonly live: Live; readonly feed: EventFeed }) {
  const isPaused = feed.state.value.kind === 'paused';
  return (
    <>
      <button type="button" aria-pressed={isPaused} onClick={() => (isPaused ? feed.start() : feed.pause())}>
        {isPaused ? T.resume : T.pause}
      </button>
      <button type="button" onClick={() => feed.clear()}>
        {T.clear}
      </button>
      <button type="button" onClick={() => void done(() => live.api.publish_test_event.mutate({}), T.tested)}>
        {T.test}
      </button>
    </>
  );
}

interface StandingProps {
  readonly state: FeedState;
  readonly feed: EventFeed;
  readonly count: string;
}

function Standing({ state, feed, count }: StandingProps) {
  if (state.kind === 'failed')
    return (
      <State kind="failed" text={`${TEXTS.states.failed} ${state.why}`}>
        <button type="button" onClick={() => feed.start()}>
          {TEXTS.states.again}
        </button>
      </State>
    );
  const words = { connecting: T.connecting, live: T.live, paused: T.paused };
  // a feed outlives its connection, and says nothing until there is one again
  const kind = state.kind === 'live' && link.value.state !== 'open' ? 'connecting' : state.kind;
  return (
    <p class="feed">
      <span class={`status ${kind === 'live' ? 'live' : 'draining'}`}>{words[kind]}</span>{' '}
      <span class="soft">{count}</span>
    </p>
  );
}

interface TableProps {
  readonly events: readonly Envelope[];
  readonly open: (event: Envelope) => void;
}

function Table({ events, open }: TableProps) {
  return (
    <>
      <div class="scroll" role="region" aria-label={TEXTS.pages.events} tabIndex={0} data-rows onKeyDown={toRow}>
        <table class="rows">
          <thead>
            <tr>
              {Object.entries(T.columns).map(([name, title]) => (
                <th key={name} scope="col">
                  {title}
                </th>
              ))}
              <th scope="col">{T.envelope}</th>
            </tr>
          </thead>
          <tbody>
            {events.slice(0, EVENTS_DRAWN_MAX).map((event) => (
              <Row key={event.id} event={event} open={open} />
            ))}
          </tbody>
        </table>
      </div>
      {events.length > EVENTS_DRAWN_MAX && <p class="soft">{T.onlyNewest(EVENTS_DRAWN_MAX)}</p>}
    </>
  );
}

function Row({ event, open }: { readonly event: Envelope; readonly open: (event: Envelope) => void }) {
  const words = wordsOf(event);
  return (
    <tr>
      <td>
        <Ago at={event.time} />
      </td>
      <th scope="row">{event.type}</th>
      <td>
        {subjectsOf(event).map(({ text, href }) => (
          <span key={text} class="subject">
            {href === undefined ? <bdi>{text}</bdi> : <a href={href}>{text}</a>}
          </span>
        ))}
      </td>
      <td class="words" title={words}>
        <bdi>{words}</bdi>
      </td>
      <td>
        <button type="button" data-opens aria-label={T.open(event.type)} onClick={() => open(event)}>
          {T.envelope}
        </button>
      </td>
    </tr>
  );
}

interface EnvelopeDialogProps {
  readonly event: Envelope;
  readonly explained: string | null;
  readonly onClose: () => void;
}

function EnvelopeDialog({ event, explained, onClose }: EnvelopeDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="form made" aria-labelledby="envelope-title" onClose={onClose}>
      <form method="dialog">
        <h2 id="envelope-title">{event.type}</h2>
        {explained !== null && <p class="soft">{explained}</p>}
        <pre class="envelope" tabIndex={0} aria-label={T.envelope}>
          <bdi>{JSON.stringify(event, null, 2)}</bdi>
        </pre>
        <div class="answers">
          <button class="primary" autofocus>
            {T.close}
          </button>
        </div>
      </form>
    </dialog>
  );
}
