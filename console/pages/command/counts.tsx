/** How a command went, in a cell: what is open and what failed first. */
import type { CommandSummary } from '../../../actors/resources/command.ts';
import { Result } from '../../parts/result.tsx';
import { RESULTS } from '../../run/grouping.ts';
import { countsOf } from './summary-bar.tsx';

/** Only what there is. */
export function Counts({ summary }: { readonly summary: CommandSummary }) {
  const counts = countsOf(summary);
  return (
    <span class="counts">
      {RESULTS.filter((kind) => counts[kind] > 0).map((kind) => (
        <span key={kind}>
          <Result kind={kind} /> <span class="number">{counts[kind].toLocaleString('en')}</span>
        </span>
      ))}
    </span>
  );
}
