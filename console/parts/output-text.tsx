/** What a script said, as text: its colours, and nothing else that a terminal would obey. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { spansOf } from '../run/ansi.ts';
import { markedPieces } from '../run/output-search.ts';
import { RUN } from '../texts/run.ts';

/**
 * Characters that are drawn at once, and one after the other for whoever wants more: browsers lay out a long line
 * slowly.
 */
export const DRAWN_CHARACTERS = 65_536;

const T = RUN.group;

/** `label`: whose output it is, for whoever does not see it. */
export function OutputText({
  text,
  label,
  pattern = null,
}: {
  readonly text: string;
  readonly label: string;
  readonly pattern?: RegExp | null;
}) {
  const [drawn, setDrawn] = useState(DRAWN_CHARACTERS);
  useEffect(() => setDrawn(DRAWN_CHARACTERS), [label]);
  const spans = useMemo(() => spansOf(text.slice(0, drawn)), [text, drawn]);
  return (
    <>
      <pre class="output" tabIndex={0} role="region" aria-label={label}>
        <bdi>
          {spans.map(({ text: piece, look }, index) =>
            look === '' ? (
              <Marked key={index} text={piece} pattern={pattern} />
            ) : (
              <span key={index} class={look}>
                <Marked text={piece} pattern={pattern} />
              </span>
            ),
          )}
        </bdi>
      </pre>
      {text.length > drawn && (
        <button type="button" onClick={() => setDrawn(drawn + DRAWN_CHARACTERS)}>
          {T.showMore(drawn, text.length)}
        </button>
      )}
    </>
  );
}

function Marked({ text, pattern }: { readonly text: string; readonly pattern: RegExp | null }) {
  if (pattern === null) return <>{text}</>;
  return (
    <>
      {markedPieces(text, pattern).map((piece, index) => (index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece))}
    </>
  );
}
