/** All commands, the newest first. */
import type { CommandResource } from '../../actors/resources/command.ts';
import { anywhere, listParametersOf, listStateOf } from '../lists/query.ts';
import { curlOfList } from '../lists/terminal.ts';
import type { PageProps } from '../page-props.ts';
import { Ago } from '../parts/ago.tsx';
import { Elsewhere } from '../parts/elsewhere.tsx';
import { Heading } from '../parts/heading.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import { addressOf } from '../routes.ts';
import { TEXTS } from '../texts.ts';
import { RUN } from '../texts/run.ts';
import { Counts } from './command/counts.tsx';

const T = RUN.commands;

const FILTERS = ['command_text', 'has_failed', 'has_open'] as const;

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
  const state = listStateOf(search, FILTERS);
  const { command_text: words, has_failed: failed, has_open: open, ...others } = listParametersOf(state);
  const parameters = {
    ...others,
    ...(words !== undefined && { command_text: anywhere(words) }),
    ...(failed !== undefined && { has_failed: failed === 'true' }),
    ...(open !== undefined && { has_open: open === 'true' }),
  };
  const cli = ['edge command ls', ...(failed === 'true' ? ['--failed'] : []), ...(open === 'true' ? ['--open'] : [])];
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
        ask={() => live.api.list_commands.query(parameters)}
        idOf={({ id }) => id}
        columns={COLUMNS}
        detail={({ id }) => addressOf('command', { id })}
        empty={T.empty}
        emptyNext={<a href={addressOf('run')}>{T.emptyNext}</a>}
      />
      <Elsewhere cli={cli.join(' ')} curl={curlOfList(location.origin, '/commands', parameters)} />
    </>
  );
}
