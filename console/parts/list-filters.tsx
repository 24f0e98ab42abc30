/** Filters above a list: each stands in the address, and leads to the first page of what it finds. */
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
  const show = (name: string, value: string, isTyped: boolean): void =>
    go(address(listSearchOf(filteredBy(state, name, value))), { isTyped });
  const values = new Map(Object.entries(state.filters));
  return (
    <div class="filters" role="search">
      {filters.map(({ name, label, hint, options }, index) => (
        <label key={name} class={options === undefined ? 'search' : ''}>
          <span>{label}</span>
          {options === undefined ? (
            <input
              type="search"
              value={values.get(name) ?? ''}
              maxLength={VALUE_CHARACTERS_MAX}
              placeholder={hint}
              aria-keyshortcuts={index === 0 ? '/' : undefined}
              onInput={({ currentTarget }) => show(name, currentTarget.value, true)}
              onKeyDown={({ key, currentTarget }) => {
                if (key === 'Escape' || key === 'Enter') currentTarget.blur();
                if (key === 'Enter') document.querySelector<HTMLElement>('.paged .scroll')?.focus();
              }}
            />
          ) : (
            <select
              value={values.get(name) ?? ''}
              onChange={({ currentTarget }) => show(name, currentTarget.value, false)}
            >
              <option value="">{TEXTS.lists.any}</option>
              {options.map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          )}
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
