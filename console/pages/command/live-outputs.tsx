/** What nodes say while they run: some of them at a time, as each is one more feed. */
import { useEffect, useMemo } from 'preact/hooks';
import { OutputText } from '../../parts/output-text.tsx';
import { LiveOutput, TAILS_MAX } from '../../run/live-output.ts';
import { RUN } from '../../texts/run.ts';
import { told } from './actions.tsx';
import type { GroupProps } from './props.ts';

const T = RUN.group;

/** Other nodes that stand here by name. */
const NAMED_MAX = 200;

/** The first ones live, the others by name. */
export function LiveOutputs(props: GroupProps) {
  const { group, nameOf } = props;
  const ids = [...group.ids];
  const others = ids.slice(TAILS_MAX, TAILS_MAX + NAMED_MAX);
  return (
    <>
      {ids.slice(0, TAILS_MAX).map((id) => (
        <One key={id} {...props} execution={id} name={nameOf(id)} />
      ))}
      {others.length > 0 && (
        <>
          <h3>{T.others}</h3>
          <ul class="names" aria-label={T.others} tabIndex={0}>
            {others.map((id) => (
              <li key={id}>
                <bdi>{nameOf(id)}</bdi>
              </li>
            ))}
            {ids.length > TAILS_MAX + others.length && (
              <li class="soft">{T.more(ids.length - TAILS_MAX - others.length)}</li>
            )}
          </ul>
        </>
      )}
    </>
  );
}

function One({ live, execution, name, pattern }: GroupProps & { readonly execution: string; readonly name: string }) {
  const output = useMemo(() => new LiveOutput(live.api, execution), [live, execution]);
  useEffect(() => () => output.stop(), [output]);
  const { text, missedCharacters } = output.text.value;
  return (
    <article class="live">
      <header>
        <h3>
          <bdi>{name}</bdi> <span class="soft">{T.live}</span>
        </h3>
        <button
          type="button"
          aria-label={T.cancelOne(name)}
          onClick={() => void told(live.api.cancel_command_execution.mutate({ id: execution }), RUN.command.cancelled)}
        >
          {RUN.command.cancel}
        </button>
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
