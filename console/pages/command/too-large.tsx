/** A command on more nodes than a page can follow: how far it is, what can be done about it, and one of its outputs. */
import type { CommandResource } from '../../../actors/resources/command.ts';
import type { Fleet } from '../../fleet/feed.ts';
import type { Live } from '../../live.ts';
import { Asked } from '../../parts/asked.tsx';
import { OutputText } from '../../parts/output-text.tsx';
import { Result } from '../../parts/result.tsx';
import { State } from '../../parts/state.tsx';
import { usePolled } from '../../poll.ts';
import { addressOf } from '../../routes.ts';
import { resultOf } from '../../run/grouping.ts';
import { RUN } from '../../texts/run.ts';
import { About } from './about.tsx';
import { Actions, CancelOne } from './actions.tsx';
import { SummaryBar } from './summary-bar.tsx';

const T = RUN.command;

interface TooLargeProps {
  readonly live: Live;
  /** Of the command. */
  readonly id: string;
  /** That the address names; empty: none. */
  readonly execution: string;
  /** Names of nodes. */
  readonly fleet: Fleet;
  readonly lead: (address: string) => void;
}

/** Asked now and then, as no feed tells it. */
export function TooLarge({ live, id, execution, fleet, lead }: TooLargeProps) {
  const polled = usePolled(() => live.api.get_command.query({ id })).value;
  return (
    <>
      <Asked polled={polled} />
      {polled.data !== null && <Known live={live} command={polled.data} lead={lead} />}
      {execution !== '' && <One key={execution} live={live} execution={execution} fleet={fleet} />}
    </>
  );
}

function Known({ live, command, lead }: Pick<TooLargeProps, 'live' | 'lead'> & { readonly command: CommandResource }) {
  const { id, summary } = command;
  return (
    <>
      <p class="soft">{T.progress(summary.total - summary.pending - summary.sent, summary.total)}</p>
      <About command={command} />
      <SummaryBar summary={summary} />
      <Actions live={live} command={command} summary={summary} lead={lead} />
      <State text={T.tooLarge}>
        <a href={addressOf('executions', { search: `?command_id__in=${encodeURIComponent(id)}` })}>{T.toExecutions}</a>
      </State>
    </>
  );
}

function One({ live, execution, fleet }: Pick<TooLargeProps, 'live' | 'execution' | 'fleet'>) {
  void fleet.version.value;
  const polled = usePolled(() => live.api.get_command_execution.query({ id: execution })).value;
  if (polled.data === null) return <Asked polled={polled} />;
  const { node_id: node, status, exit_code: exitCode, output } = polled.data;
  const name = fleet.rows.get(node)?.name ?? node;
  return (
    <section class="group" aria-label={T.columns.output}>
      <header>
        <h2>
          <a href={addressOf('node', { id: node })}>
            <bdi>{name}</bdi>
          </a>{' '}
          <Result kind={resultOf(polled.data)} exitCode={exitCode} />
        </h2>
        {(status === 'pending' || status === 'sent') && (
          <CancelOne live={live} execution={execution} name={name} runsOn={status === 'sent' ? node : null} />
        )}
      </header>
      {output !== null && output !== '' && <OutputText text={output} label={`${RUN.group.output}: ${name}`} />}
    </section>
  );
}
