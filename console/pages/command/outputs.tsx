/** What came out of a command: groups on one side, the chosen one on the other. The choice stands in the address. */
import { useMemo } from 'preact/hooks';
import { Grid, type Column } from '../../parts/grid.tsx';
import { Result } from '../../parts/result.tsx';
import { State } from '../../parts/state.tsx';
import { go } from '../../router.ts';
import { addressOf } from '../../routes.ts';
import type { OutputGroup } from '../../run/grouping.ts';
import { patternOf, SEARCH_CHARACTERS_MAX, searched } from '../../run/output-search.ts';
import { RUN } from '../../texts/run.ts';
import { GroupDetail } from './group-detail.tsx';
import type { OutputsProps } from './props.ts';

const T = RUN.command;

/**
 * List and detail. As long as nothing is chosen, the first group is shown: what failed. An execution that the address
 * names chooses the group that it is in, also when that is another one later.
 */
export function Outputs(props: OutputsProps) {
  const { watch, fleet, id, search } = props;
  const { q: words, show: chosenKey, execution: first } = searchIn(search);
  const names = fleet.version.value;
  const version = watch.version.value;
  const pattern = useMemo(() => patternOf(words), [words]);
  const nameOf = useMemo(() => namesOf(props), [watch, fleet, names, version]);
  const { groups, notSearched } = useMemo(
    () => searched(watch.groups.sorted(), pattern, nameOf),
    [watch, version, pattern, nameOf],
  );
  const chosen = groups.find(({ ids }) => ids.has(first)) ?? groups.find(({ key }) => key === chosenKey) ?? groups[0];
  const address = (changed: Partial<Search>): string =>
    addressOf('command', { id, search: searchOf({ q: words, show: chosenKey, execution: first, ...changed }) });
  const show = (changed: Partial<Search>, isTyped: boolean): void => go(address(changed), { isTyped });
  return (
    <>
      <label class="search">
        <span class="unseen">{T.search}</span>
        <input
          type="search"
          value={words}
          maxLength={SEARCH_CHARACTERS_MAX}
          placeholder={T.searchHint}
          aria-keyshortcuts="/"
          onInput={({ currentTarget }) => show({ q: currentTarget.value }, true)}
          onKeyDown={({ key, currentTarget }) => {
            if (key === 'Escape' || key === 'Enter') currentTarget.blur();
            if (key === 'Enter') document.querySelector<HTMLElement>('[role=grid]')?.focus();
          }}
        />
      </label>
      {notSearched > 0 && <p class="soft">{T.notSearched(notSearched)}</p>}
      {chosen === undefined ? (
        <State text={T.noMatch} />
      ) : (
        <div class="outputs">
          <Grid
            label={T.groups}
            rows={groups}
            idOf={keyOf}
            columns={COLUMNS}
            onActive={({ key }) => show({ show: key, execution: '' }, true)}
          />
          <GroupDetail
            key={chosen.key}
            {...props}
            group={chosen}
            pattern={pattern}
            nameOf={nameOf}
            first={first}
            addressOf={(execution) => address({ show: '', execution })}
          />
        </div>
      )}
    </>
  );
}

/** What of the page stands in its address. */
interface Search {
  readonly q: string;
  readonly show: string;
  readonly execution: string;
}

const keyOf = ({ key }: OutputGroup): string => key;

const COLUMNS: readonly Column<OutputGroup>[] = [
  {
    name: 'result',
    title: T.columns.result,
    minPx: 150,
    grow: 0,
    cell: ({ kind, exitCode }) => <Result kind={kind} exitCode={exitCode} />,
  },
  { name: 'number', title: T.columns.nodes, minPx: 72, grow: 0, cell: ({ shown }) => shown.toLocaleString('en') },
  { name: 'said', title: T.columns.output, minPx: 80, cell: (group) => <Said group={group} /> },
];

function Said({ group: { preview, output } }: { readonly group: OutputGroup }) {
  return preview === '' ? <span class="soft">{RUN.outputs[output]}</span> : <bdi class="mono">{preview}</bdi>;
}

/** What the node of an execution is called; one that is gone, or that nobody tells of, by its id. */
function namesOf({ watch, fleet }: OutputsProps): (execution: string) => string {
  return (execution) => {
    const node = watch.rows.get(execution)?.node_id ?? '';
    return fleet.rows.get(node)?.name ?? node;
  };
}

function searchIn(search: string): Search {
  const given = new URLSearchParams(search);
  return { q: given.get('q') ?? '', show: given.get('show') ?? '', execution: given.get('execution') ?? '' };
}

function searchOf({ q, show, execution }: Search): string {
  const pairs = [
    ['q', q],
    ['show', show],
    ['execution', execution],
  ].filter(([, value]) => value !== '');
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}
