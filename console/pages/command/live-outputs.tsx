/** What nodes say while they run: some of them at a time, as each is one more feed. */
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { OutputText } from '../../parts/output-text.tsx';
import type { CommandWatch } from '../../run/command-watch.ts';
import { LiveOutput, TAILS_MAX } from '../../run/live-output.ts';
import { foundFirst } from '../../run/output-search.ts';
import { RUN } from '../../texts/run.ts';
import { CancelOne } from './actions.tsx';
import type { GroupProps } from './props.ts';

const T = RUN.group;

/** Other nodes that stand here by name. */
const NAMED_MAX = 200;

/** The first ones live, the others by name, each of which leads to its output. What is looked for stands first. */
export function LiveOutputs(props: GroupProps) {
  const { group, nameOf, live, watch, first, pattern, addressOf } = props;
  const named = foundFirst(group.ids, { max: TAILS_MAX + NAMED_MAX, first, pattern, nameOf });
  const others = named.slice(TAILS_MAX);
  return (
    <>
      {named.slice(0, TAILS_MAX).map((id) => (
        <One key={id} {...props} execution={id} name={nameOf(id)} />
      ))}
      {others.length > 0 && (
        <>
          <h3>{T.others}</h3>
          <ul class="names" aria-label={T.others} tabIndex={0}>
            {others.map((id) => (
              <li key={id}>
                <a href={addressOf(id)}>
                  <bdi>{nameOf(id)}</bdi>
                </a>
                <CancelOne live={live} execution={id} name={nameOf(id)} runsOn={nodeOf(watch, id)} />
              </li>
            ))}
            {group.ids.size > named.length && <li class="soft">{T.more(group.ids.size - named.length)}</li>}
          </ul>
        </>
      )}
    </>
  );
}

/** The node of an execution, by its id; of one that is gone, the execution. */
function nodeOf(watch: CommandWatch, execution: string): string {
  return watch.rows.get(execution)?.node_id ?? execution;
}

function One({
  live,
  watch,
  execution,
  name,
  pattern,
  first,
}: GroupProps & { readonly execution: string; readonly name: string }) {
  const article = useRef<HTMLElement>(null);
  const output = useMemo(() => new LiveOutput(live.api, execution), [live, execution]);
  useEffect(() => () => output.stop(), [output]);
  useEffect(() => {
    // the link that led here is gone, and the focus with it
    if (first === execution && document.activeElement === document.body) article.current?.focus();
  }, [first, execution]);
  const { text, missedCharacters } = output.text.value;
  return (
    <article ref={article} class="live" tabIndex={-1}>
      <header>
        <h3>
          <bdi>{name}</bdi> <span class="soft">{T.live}</span>
        </h3>
        <CancelOne live={live} execution={execution} name={name} runsOn={nodeOf(watch, execution)} />
      </header>
      {missedCharacters > 0 && <p class="soft">{T.missed(missedCharacters)}</p>}
      {text === '' ? (
        <p class="soft">{T.quiet}</p>
      ) : (
        <OutputText text={text} label={`${T.output}: ${name}`} pattern={pattern} />
      )}
    </article>
  );
}
