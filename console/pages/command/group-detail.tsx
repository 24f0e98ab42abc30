/** One group: how it ended, on which nodes, and what they said; while they run, what they say. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { read } from '../../parts/acts.tsx';
import { copied } from '../../parts/elsewhere.tsx';
import { OutputText } from '../../parts/output-text.tsx';
import { Result } from '../../parts/result.tsx';
import { plainTextOf } from '../../run/ansi.ts';
import { mostFrequent } from '../../run/grouping.ts';
import { knownOf } from '../../run/output-queue.ts';
import { foundFirst } from '../../run/output-search.ts';
import { RUN } from '../../texts/run.ts';
import { CancelOne } from './actions.tsx';
import { DiffText } from './diff-text.tsx';
import { LiveOutputs } from './live-outputs.tsx';
import type { GroupProps } from './props.ts';

const T = RUN.group;

/** Nodes of a group that stand here by name. */
const NAMED_MAX = 200;

/** The chosen group. */
export function GroupDetail(props: GroupProps) {
  const { group } = props;
  const { kind, exitCode, ids, output } = group;
  return (
    <section class="group" aria-label={RUN.command.columns.output}>
      <header>
        <h2>
          <Result kind={kind} exitCode={exitCode} /> <span class="soft">{T.nodesOf(ids.size)}</span>
        </h2>
      </header>
      {kind === 'running' ? (
        <LiveOutputs {...props} />
      ) : (
        <>
          {kind === 'pending' && <p class="soft">{T.away}</p>}
          <Names {...props} />
          {output === 'known' && <Known {...props} />}
          {output === 'waiting' && <p class="soft">{RUN.outputs.waiting}</p>}
        </>
      )}
    </section>
  );
}

/** Who they are; one that waits may be called off, and an output that is had only on demand is demanded here. */
function Names({ group, nameOf, live, watch, pattern, first }: GroupProps) {
  const { ids, kind, output } = group;
  const named = foundFirst(ids, { max: NAMED_MAX, first, pattern, nameOf });
  return (
    <ul class="names" aria-label={T.nodesOf(ids.size)} tabIndex={0}>
      {named.map((id) => (
        <li key={id}>
          <bdi>{nameOf(id)}</bdi>
          {kind === 'pending' && <CancelOne live={live} execution={id} name={nameOf(id)} runsOn={null} />}
          {output === 'large' && (
            <button type="button" onClick={() => void read(() => watch.load(id))}>
              {T.load}
            </button>
          )}
        </li>
      ))}
      {ids.size > named.length && <li class="soft">{T.more(ids.size - named.length)}</li>}
    </ul>
  );
}

/** What they said, whole or against what most said. */
function Known({ group, pattern, nameOf, watch, live }: GroupProps) {
  const isDifference = useSignal(false);
  const whole = useSignal<string | null>(null);
  const common = useMemo(() => mostFrequent(watch.groups.sorted()), [watch, watch.version.value]);
  const text = whole.value ?? group.text;
  const [first = ''] = group.ids;
  const load = async (): Promise<void> => {
    whole.value = knownOf(await live.api.get_command_execution.query({ id: first })).text;
  };
  return (
    <>
      <div class="actions">
        {common !== null && common.key !== group.key && (
          <>
            <Choice isPressed={!isDifference.value} text={T.output} choose={() => (isDifference.value = false)} />
            <Choice isPressed={isDifference.value} text={T.difference} choose={() => (isDifference.value = true)} />
          </>
        )}
        {text !== '' && (
          <button type="button" onClick={() => void copied(plainTextOf(text))}>
            {T.copy}
          </button>
        )}
      </div>
      {group.isTruncated && <p class="soft">{T.truncated}</p>}
      {!group.isWhole && whole.value === null && (
        <p class="soft">
          {T.notWhole(group.characters)}{' '}
          <button type="button" onClick={() => void read(load)}>
            {T.whole}
          </button>
        </p>
      )}
      {isDifference.value && common !== null ? (
        <DiffText before={common} after={text} />
      ) : text === '' ? (
        <p class="soft">{RUN.outputs.known}</p>
      ) : (
        <OutputText text={text} label={`${T.output}: ${nameOf(first)}`} pattern={pattern} />
      )}
    </>
  );
}

function Choice({
  isPressed,
  text,
  choose,
}: {
  readonly isPressed: boolean;
  readonly text: string;
  readonly choose: () => void;
}) {
  return (
    <button type="button" class="chip" aria-pressed={isPressed} onClick={choose}>
      {text}
    </button>
  );
}
