/** All commands, the newest first. */
import type { CommandResource } from '../../actors/resources/command.ts';
import { LIST_FILTERS, LIST_PARAMETERS } from '../lists/parameters.ts';
import { listStateOf } from '../lists/query.ts';
import type { PageProps } from '../page-props.ts';
import { Ago } from '../parts/ago.tsx';
import { Heading } from '../parts/heading.tsx';
import { ListElsewhere } from '../parts/list-elsewhere.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import { addressOf } from '../routes.ts';
import { TEXTS } from '../texts.ts';
import { RUN } from '../texts/run.ts';
import { Counts } from './command/counts.tsx';

const T = RUN.commands;

const COLUMNS: readonly ListColumn<CommandResource>[] = [
  {
    name: 'command',
    title: T.columns.command,
    cell: ({ command_text: text }) => (
      <bdi class="mono clipped" title={text.slice(0, 500)}>
        {text.trim().split('\n', 1)[0]?.slice(0, 200)}
      </bdi>
    ),
  },
  { name: 'result', title: T.columns.result, cell: ({ summary }) => <Counts summary={summary} /> },
  { name: 'nodes', title: T.columns.nodes, isNumber: true, cell: ({ summary }) => summary.total.toLocaleString('en') },
  { name: 'created', title: T.columns.created, sort: 'inserted_at', cell: ({ inserted_at: at }) => <Ago at={at} /> },
];

const address = (search: string): string => addressOf('commands', { search });

/** The list, with what it is searched by. */
export function CommandsPage({ live, search }: PageProps) {
  const state = listStateOf(search, LIST_FILTERS.commands);
  return (
    <>
      <Heading text={TEXTS.pages.commands}>
        <a href={addressOf('run')}>{T.emptyNext}</a>
      </Heading>
      <ListFilters
        state={state}
        address={address}
        filters={[
          { name: 'command_text', label: T.text, hint: RUN.form.textHint },
          { name: 'has_failed', label: T.failures, options: Object.entries(T.failedOnes) },
          { name: 'has_open', label: T.progress, options: Object.entries(T.opens) },
        ]}
      />
      <PagedList
        label={TEXTS.pages.commands}
        state={state}
        address={address}
        ask={() => live.api.list_commands.query(LIST_PARAMETERS.commands(state))}
        idOf={({ id }) => id}
        columns={COLUMNS}
        detail={({ id }) => addressOf('command', { id })}
        empty={T.empty}
        emptyNext={<a href={addressOf('run')}>{T.emptyNext}</a>}
      />
      <ListElsewhere page="commands" state={state} />
    </>
  );
}
