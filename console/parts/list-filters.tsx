/** Filters above a list: each stands in the address, and leads to the first page of what it finds. */
import type { TargetedKeyboardEvent } from 'preact';
import { instantOf, localTimeOf } from '../lists/local-time.ts';
import { filteredBy, listSearchOf, VALUE_CHARACTERS_MAX, type ListState } from '../lists/query.ts';
import { go } from '../router.ts';
import { TEXTS } from '../texts.ts';

/** A filter: words, or one of some. */
export interface ListFilter {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  /** Values with what they are called; none: words. */
  readonly options?: readonly (readonly [value: string, title: string])[];
  /** A date and a time, in that of this machine. */
  readonly isInstant?: boolean;
}

/** They, in a row. The first one is what `/` leads to. */
export function ListFilters({
  state,
  address,
  filters,
}: {
  readonly state: ListState;
  readonly address: (search: string) => string;
  readonly filters: readonly ListFilter[];
}) {
  const values = new Map(Object.entries(state.filters));
  return (
    <div class="filters" role="search">
      {filters.map((filter, index) => (
        <label key={filter.name} class={filter.options === undefined && filter.isInstant !== true ? 'search' : ''}>
          <span>{filter.label}</span>
          <Choice
            filter={filter}
            value={values.get(filter.name) ?? ''}
            isFirst={index === 0}
            show={(value, isTyped) => go(address(listSearchOf(filteredBy(state, filter.name, value))), { isTyped })}
          />
        </label>
      ))}
      {Object.keys(state.filters).length > 0 && (
        <button type="button" onClick={() => go(address(listSearchOf({ ...state, filters: {}, page: 1 })))}>
          {TEXTS.lists.clear}
        </button>
      )}
    </div>
  );
}

interface ChoiceProps {
  readonly filter: ListFilter;
  readonly value: string;
  readonly isFirst: boolean;
  readonly show: (value: string, isTyped: boolean) => void;
}

function Choice({ filter: { hint, options, isInstant = false }, value, isFirst, show }: ChoiceProps) {
  if (options !== undefined)
    return (
      <select value={value} onChange={({ currentTarget }) => show(currentTarget.value, false)}>
        <option value="">{TEXTS.lists.any}</option>
        {options.map(([one, title]) => (
          <option key={one} value={one}>
            {title}
          </option>
        ))}
      </select>
    );
  if (isInstant)
    return (
      <input
        type="datetime-local"
        step={1}
        value={localTimeOf(value)}
        onInput={({ currentTarget }) => show(instantOf(currentTarget.value), true)}
        onKeyDown={leave}
      />
    );
  return (
    <input
      type="search"
      value={value}
      maxLength={VALUE_CHARACTERS_MAX}
      placeholder={hint}
      aria-keyshortcuts={isFirst ? '/' : undefined}
      onInput={({ currentTarget }) => show(currentTarget.value, true)}
      onKeyDown={leave}
    />
  );
}

/** Escape leaves what was typed, and Enter leads to the rows. */
function leave({ key, currentTarget }: TargetedKeyboardEvent<HTMLInputElement>): void {
  if (key === 'Escape' || key === 'Enter') currentTarget.blur();
  if (key === 'Enter') document.querySelector<HTMLElement>('.paged .scroll, .scroll[data-rows]')?.focus();
}
