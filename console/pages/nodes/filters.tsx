/**
 * The filters of the list of nodes: words, and what nodes are told apart by. Each choice says how many it would show.
 */
import { useSignal } from '@preact/signals';
import { askedOf } from '../../fleet/facets.ts';
import {
  isFiltered,
  nodesAddress,
  STATUSES,
  TEXT_CHARACTERS_MAX,
  toggled,
  WHOLE_FLEET,
  type Facet,
  type NodesQuery,
} from '../../fleet/query.ts';
import type { NodesView } from '../../fleet/view.ts';
import { Menu } from '../../parts/menu.tsx';
import { Status } from '../../parts/status.tsx';
import { go } from '../../router.ts';
import { TEXTS } from '../../texts.ts';
import { number } from '../../texts/number.ts';

const T = TEXTS.nodes;

/** Choices that are drawn; the others are found by typing. */
const CHOICES_DRAWN_MAX = 100;

/** From this many on there is a field to look for one. */
const SEARCHABLE_FROM = 9;

/** Filters that are a menu, in their order. */
const MENUS = ['cluster', 'version', 'os', 'arch', 'label'] as const satisfies readonly Facet[];

/** Shows the list that a query asks for. */
export function show(query: NodesQuery, isTyped = false): void {
  go(nodesAddress(query), { isTyped });
}

interface FilterProps {
  readonly query: NodesQuery;
  readonly view: NodesView;
}

/** All of them. */
export function Filters({ query, view }: FilterProps) {
  return (
    <div class="filters" role="search">
      <label class="search">
        <span class="unseen">{T.search}</span>
        <input
          type="search"
          value={query.text}
          maxLength={TEXT_CHARACTERS_MAX}
          placeholder={T.searchHint}
          aria-keyshortcuts="/"
          onInput={({ currentTarget }) => show({ ...query, text: currentTarget.value }, true)}
          onKeyDown={({ key, currentTarget }) => {
            if (key === 'Escape' || key === 'Enter') currentTarget.blur();
            if (key === 'Enter') document.querySelector<HTMLElement>('[role=grid]')?.focus();
          }}
        />
      </label>
      {isFiltered(query) && (
        <button type="button" class="plain" onClick={() => show({ ...WHOLE_FLEET, sort: query.sort })}>
          {T.clear}
        </button>
      )}
      <div class="chips" role="group" aria-label={T.filters}>
        {STATUSES.map((status) => (
          <button
            key={status}
            type="button"
            class="chip"
            aria-pressed={query.statuses.includes(status)}
            onClick={() => show(toggled(query, 'status', status))}
          >
            <Status status={status} /> <span class="number">{number(view.counts.status.get(status) ?? 0)}</span>
          </button>
        ))}
        {MENUS.map((facet) => (
          <FacetMenu key={facet} facet={facet} query={query} view={view} />
        ))}
      </div>
    </div>
  );
}

function FacetMenu({ facet, query, view }: FilterProps & { readonly facet: Facet }) {
  const asked = askedOf(query, facet);
  const title = T.facets[facet];
  return (
    <Menu
      kind={asked.length > 0 ? 'chip asked' : 'chip'}
      label={title}
      title={
        <>
          {title}
          {asked.length > 0 && (
            <>
              {': '}
              <bdi class="what">{asked.map(plain).join(', ')}</bdi>
            </>
          )}
        </>
      }
    >
      {() => <Choices facet={facet} query={query} view={view} />}
    </Menu>
  );
}

/** What is asked for stands first and stays to be seen, also where no node is so any more; then the most common. */
function Choices({ facet, query, view }: FilterProps & { readonly facet: Facet }) {
  const text = useSignal('');
  const asked = askedOf(query, facet);
  const counts = view.counts[facet];
  const others = [...counts]
    .filter(([value]) => !asked.includes(value))
    .sort(([one, ofOne], [other, ofOther]) => ofOther - ofOne || (one < other ? -1 : 1))
    .map(([value]) => value);
  const all = [...asked, ...others];
  const found = all.filter((value) => value.toLowerCase().includes(text.value.trim().toLowerCase()));
  return (
    <>
      {all.length >= SEARCHABLE_FROM && (
        <input
          class="find"
          value={text.value}
          placeholder={T.find(T.facets[facet])}
          aria-label={T.find(T.facets[facet])}
          autocomplete="off"
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
      )}
      {found.length === 0 && <p class="soft">{T.noChoice}</p>}
      <ul class="choice-list">
        {found.slice(0, CHOICES_DRAWN_MAX).map((value) => (
          <li key={value}>
            <label>
              <input
                type="checkbox"
                checked={asked.includes(value)}
                onChange={() => show(toggled(query, facet, value))}
              />
              <bdi>{plain(value)}</bdi>
            </label>
            <span class="number soft">{number(counts.get(value) ?? 0)}</span>
          </li>
        ))}
      </ul>
      {found.length > CHOICES_DRAWN_MAX && <p class="soft">{T.moreChoices(found.length - CHOICES_DRAWN_MAX)}</p>}
    </>
  );
}

/** A label without a value is its key. */
function plain(value: string): string {
  return value.replace(/=$/u, '');
}
