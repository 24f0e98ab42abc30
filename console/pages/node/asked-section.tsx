/** A part of the page whose content is asked of the agent of the node, with the button that asks again. */
import type { ComponentChildren } from 'preact';
import { State } from '../../parts/state.tsx';
import { TEXTS } from '../../texts.ts';
import type { AskedOnce } from './once.ts';
import { Section } from './section.tsx';

/** `children` shows an answer. A failure stands above what was known before. */
export function AskedSection<T>({
  id,
  words,
  asked: { data, failure, isAsking, again },
  children,
}: {
  readonly id: string;
  readonly words: { readonly title: string; readonly again: string; readonly asking: string };
  readonly asked: AskedOnce<T>;
  readonly children: (data: T) => ComponentChildren;
}) {
  return (
    <Section
      id={id}
      title={words.title}
      beside={
        <button type="button" disabled={isAsking} onClick={again}>
          {isAsking ? words.asking : words.again}
        </button>
      }
    >
      {failure !== null && <State kind="failed" text={`${TEXTS.states.failed} ${failure}`} />}
      {data === null && failure === null && <State kind="loading" text={words.asking} />}
      {data !== null && children(data)}
    </Section>
  );
}
