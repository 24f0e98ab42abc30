/** How far a command is: a bar, and the same in words. */
import type { CommandSummary } from '../../../actors/resources/command.ts';
import { Result } from '../../parts/result.tsx';
import { RESULTS, type ResultKind } from '../../run/grouping.ts';
import { RUN } from '../../texts/run.ts';

/** How many there are of each. */
export function countsOf(summary: CommandSummary): Readonly<Record<ResultKind, number>> {
  const { failed, cancelled, expired, dropped, sent, pending, succeeded } = summary;
  return { failed, cancelled, expired, dropped, running: sent, pending, succeeded };
}

/** Only what there is. */
export function SummaryBar({ summary }: { readonly summary: CommandSummary }) {
  const counts = countsOf(summary);
  const there = RESULTS.filter((kind) => counts[kind] > 0);
  return (
    <div class="summary">
      <div class="summary-bar" aria-hidden="true">
        {there.map((kind) => (
          <span key={kind} class={`result-${kind}`} style={{ flexGrow: counts[kind] }} />
        ))}
      </div>
      <ul aria-label={RUN.commands.columns.result}>
        {there.map((kind) => (
          <li key={kind}>
            <Result kind={kind} /> <span class="number">{counts[kind].toLocaleString('en')}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
