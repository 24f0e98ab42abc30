/** One command as it goes on: how far it is, what came out, and what can be done about it. */
import { useEffect, useMemo } from 'preact/hooks';
import type { PageProps } from '../../page-props.ts';
import { curlOfList } from '../../lists/terminal.ts';
import { Elsewhere } from '../../parts/elsewhere.tsx';
import { Heading } from '../../parts/heading.tsx';
import { State } from '../../parts/state.tsx';
import { addressOf } from '../../routes.ts';
import { CommandWatch, type WatchProblem } from '../../run/command-watch.ts';
import { commandLine } from '../../shell-words.ts';
import { TEXTS } from '../../texts.ts';
import { useLead } from '../../parts/there.ts';
import { RUN } from '../../texts/run.ts';
import { About } from './about.tsx';
import { Actions } from './actions.tsx';
import { Outputs } from './outputs.tsx';
import { SummaryBar } from './summary-bar.tsx';
import { TooLarge } from './too-large.tsx';

/** Executions of one answer: as many as a page of a list has at most. */
const PAGE_SIZE = 100;

const T = RUN.command;

/** Followed as long as the page is there. */
export function CommandPage({ live, fleet, id, search }: PageProps) {
  const watch = useMemo(() => new CommandWatch(live.api, id), [live, id]);
  useEffect(() => {
    watch.start();
    return () => watch.stop();
  }, [watch]);
  useEffect(() => fleet.follow(null), [fleet]); // names of nodes
  const lead = useLead();
  void watch.version.value; // drawn anew as it goes on
  const { command, isRemoved, summary } = watch.rows;
  const problem = watch.problem.value;
  const isTooLarge = problem?.code === 'bad_request';
  const isThere = command !== null && summary !== null && !isRemoved;
  return (
    <div class="list command">
      <Heading text={TEXTS.pages.command}>
        {isThere && <p class="soft">{T.progress(summary.total - summary.pending - summary.sent, summary.total)}</p>}
      </Heading>
      {isTooLarge && (
        <TooLarge
          live={live}
          id={id}
          execution={new URLSearchParams(search).get('execution') ?? ''}
          fleet={fleet}
          lead={lead}
        />
      )}
      {(isRemoved || problem !== null) && !isTooLarge && (
        <Trouble problem={problem ?? { code: 'not_found', message: '' }} again={() => watch.start()} />
      )}
      {command === null && problem === null && !isRemoved && <State kind="loading" text={TEXTS.states.loading} />}
      {isThere && (
        <>
          <About command={command} />
          <SummaryBar summary={summary} />
          <Actions live={live} command={command} summary={summary} lead={lead} />
          {summary.total === 0 ? (
            <State text={T.nowhere}>
              <a href={addressOf('run')}>{TEXTS.pages.run}</a>
            </State>
          ) : (
            <Outputs live={live} watch={watch} fleet={fleet} id={id} search={search} />
          )}
        </>
      )}
      <Elsewhere
        cli={commandLine('edge command output', id)}
        curl={curlOfList(location.origin, '/command_executions', { command_id__in: id, page_size: PAGE_SIZE })}
      />
    </div>
  );
}

function Trouble({
  problem: { code, message },
  again,
}: {
  readonly problem: WatchProblem;
  readonly again: () => void;
}) {
  if (code === 'not_found')
    return (
      <State text={T.gone}>
        <a href={addressOf('commands')}>{T.toList}</a>
      </State>
    );
  return (
    <State kind="failed" text={`${TEXTS.states.failed} ${message}`}>
      <button type="button" onClick={again}>
        {TEXTS.states.again}
      </button>
    </State>
  );
}
