/** How one output differs from what most said, as `diff -u` shows it. */
import { useMemo } from 'preact/hooks';
import { plainTextOf } from '../../run/ansi.ts';
import type { OutputGroup } from '../../run/grouping.ts';
import { DIFF_LINES_MAX, lineDiff, type DiffLine } from '../../run/line-diff.ts';
import { RUN } from '../../texts/run.ts';

const T = RUN.group;

const MARKS = { same: ' ', gone: '-', new: '+', gap: '⋯' } as const satisfies Record<DiffLine['kind'], string>;

/** Longest line of a difference that is drawn, in characters. */
const LINE_CHARACTERS_MAX = 2_000;

/** Compared as they are shown: colours are no difference here. */
export function DiffText({ before, after }: { readonly before: OutputGroup; readonly after: string }) {
  const diff = useMemo(() => lineDiff(plainTextOf(before.text), plainTextOf(after)), [before.text, after]);
  return (
    <>
      <p class="soft">{T.differenceTo(before.ids.size)}</p>
      {diff.isSame ? (
        <p class="soft">{T.same}</p>
      ) : (
        <pre class="output diff" tabIndex={0} role="region" aria-label={T.difference}>
          {diff.lines.map(({ kind, text }, index) => (
            <div key={index} class={`diff-${kind}`}>
              <span>{MARKS[kind]}</span> {kind === 'gap' ? T.gap : <bdi>{text.slice(0, LINE_CHARACTERS_MAX)}</bdi>}
            </div>
          ))}
        </pre>
      )}
      {diff.isCut && <p class="soft">{T.cut(DIFF_LINES_MAX)}</p>}
    </>
  );
}
