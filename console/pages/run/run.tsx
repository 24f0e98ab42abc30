/** Runs a command. The whole form stands in the address, so that a link is a command that only has to be sent off. */
import { useComputed, useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { newKey } from '../../creates.ts';
import { problemOf } from '../../failure.ts';
import type { Live } from '../../live.ts';
import type { PageProps } from '../../page-props.ts';
import { confirmed } from '../../parts/confirm.tsx';
import { Elsewhere } from '../../parts/elsewhere.tsx';
import { Heading } from '../../parts/heading.tsx';
import { notify } from '../../parts/notice.tsx';
import { useIsThere } from '../../parts/there.ts';
import { go, route } from '../../router.ts';
import { addressOf } from '../../routes.ts';
import { earlierCommand, type Earlier } from '../../run/earlier.ts';
import { runLine, runRequest } from '../../run/elsewhere.ts';
import {
  commandOfForm,
  formOf,
  NAMED_NODES_MAX,
  searchOfForm,
  type FormField,
  type KnownNodes,
  type MadeCommand,
  type NewCommand,
  type RunForm,
} from '../../run/form.ts';
import { useNamed, type NamedNodes } from './use-named.ts';
import { takeHanded } from '../../run/handed-form.ts';
import { durationText } from '../../run/duration.ts';
import { TEXTS } from '../../texts.ts';
import { RUN } from '../../texts/run.ts';
import { Places } from './places.tsx';
import { Preview } from './preview.tsx';
import { Options } from './options.tsx';

/** Nodes above which it is asked once more; and whenever it is for all. */
const UNASKED_NODES_MAX = 50;

const T = RUN.form;

/** The form, and whom it reaches. */
export function RunPage({ live, submissions, search }: PageProps) {
  const form = useForm(search);
  const earlier = useEarlier(live, form);
  const named = useNamed(live, form);
  const known = useComputed((): KnownNodes =>
    form.value.place === 'nodes' ? named.ids.value : nodesOf(earlier.value, form.value),
  );
  const { wrong, progress, problem, run } = useSending({ live, submissions, named }, form, known);
  return (
    <form
      class="run"
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        run();
      }}
    >
      <Heading text={TEXTS.pages.run} />
      <p class="lead">{T.lead}</p>
      <Script form={form} wrong={wrong.value} />
      <div class="run-where">
        <div>
          <Places live={live} form={form} earlier={earlier.value} named={named} wrong={wrong.value} />
          <Options form={form} wrong={wrong.value} />
        </div>
        <Preview live={live} form={form.value} known={known.value} />
      </div>
      <Send progress={progress.value} problem={problem.value} />
      {searchOfForm(form.value) === null && <p class="soft">{T.tooLong}</p>}
      <InTerminal form={form.value} known={known.value} />
    </form>
  );
}

/** Its lines. An expiry counts from the last change of the form: a line that changes by itself cannot be marked. */
function InTerminal({ form, known }: { readonly form: RunForm; readonly known: KnownNodes }) {
  const atMs = useMemo(() => Date.now(), [form, known]);
  return <Elsewhere cli={runLine(form)} curl={runRequest(form, known, location.origin, atMs)} />;
}

/**
 * What is wrong with the form, how its sending goes on, and how it is sent. A page that was left says in a notice how
 * it went.
 */
function useSending(kit: SendingKit, form: Signal<RunForm>, known: ReadonlySignal<KnownNodes>) {
  const wrong = useSignal<readonly FormField[]>([]);
  const progress = useSignal<string | null>(null);
  const problem = useSignal<string | null>(null);
  const isThere = useIsThere();
  const send = async (): Promise<void> => {
    if (progress.value !== null) return;
    const pressed = form.value;
    progress.value = T.naming;
    await kit.named.settled();
    progress.value = null;
    // what is typed on is not what somebody sent off, and names of now are not those of then
    if (form.value !== pressed) {
      problem.value = T.changed;
      return undefined;
    }
    const made = commandOfForm(form.value, known.value, Date.now());
    wrong.value = 'wrong' in made ? made.wrong : [];
    problem.value = null;
    if ('wrong' in made) return focusOn(made.wrong[0]);
    progress.value = T.running;
    try {
      if (!(await isWanted(kit.live, made.command, isThere))) return;
      const { id } = await stored(kit, made, () => (progress.value = T.sentAgain));
      if (isThere.current) go(addressOf('command', { id }));
      else notify({ text: T.stored });
    } catch (error) {
      const words = kit.submissions.isInDoubt(made) ? `${problemOf(error)} ${T.inDoubt}` : problemOf(error);
      if (isThere.current) problem.value = words;
      else notify({ text: words, kind: 'failed' });
    } finally {
      progress.value = null;
    }
  };
  return { wrong, progress, problem, run: () => void send() };
}

interface SendingKit extends Pick<PageProps, 'live' | 'submissions'> {
  readonly named: NamedNodes;
}

/** The button; beside it how the sending goes on, below it why it did not. */
function Send({ progress, problem }: { readonly progress: string | null; readonly problem: string | null }) {
  return (
    <>
      <div class="run-send">
        <button class="primary" aria-disabled={progress !== null} aria-keyshortcuts="Control+Enter">
          {T.run}
        </button>
        <span class="soft" role="status">
          {progress ?? T.keys}
        </span>
      </div>
      {problem !== null && (
        <p class="problem" role="alert">
          <bdi>{problem}</bdi>
        </p>
      )}
    </>
  );
}

/** What is typed, with the address after it; another address is another form. */
function useForm(search: string): Signal<RunForm> {
  const [first] = useState(() => takeHanded() ?? formOf(search));
  const form = useSignal(first);
  const written = useRef(search);
  useEffect(() => {
    // what is drawn may be older than what was typed since
    const now = route.peek().search;
    if (now === written.current) return;
    written.current = now;
    form.value = formOf(now);
  }, [search]);
  useEffect(
    () =>
      form.subscribe((now) => {
        const next = searchOfForm(now) ?? '';
        if (next === written.current || next === searchOfForm(formOf(written.current))) return;
        written.current = next;
        go(addressOf('run', { search: next }), { isTyped: true });
      }),
    [],
  );
  return form;
}

/** The earlier command that the form names; a text: why it is not known. Its text is the form's where that has none. */
function useEarlier(live: Live, form: Signal<RunForm>): Signal<Earlier | string | null> {
  const earlier = useSignal<Earlier | string | null>(null);
  const { place, again } = form.value;
  const id = place === 'again' ? again.trim() : '';
  useEffect(() => {
    earlier.value = null;
    if (id === '') return undefined;
    const { found, stop } = earlierCommand(live.api, id);
    let isThere = true;
    const take = (one: Earlier): void => {
      earlier.value = one;
      const { command_text: text, timeout } = one.command;
      if (form.value.text === '')
        form.value = { ...form.value, text, timeout: timeout === null ? '' : durationText(timeout) };
    };
    found.then(
      (one) => (isThere ? take(one) : undefined),
      (error: Error) => (isThere ? (earlier.value = error.message) : undefined),
    );
    return () => {
      isThere = false;
      stop();
    };
  }, [live, id]);
  return earlier;
}

function nodesOf(earlier: Earlier | string | null, { place, onlyFailed }: RunForm): KnownNodes {
  if (place !== 'again' || earlier === null || typeof earlier === 'string') return null;
  return onlyFailed ? earlier.failed : earlier.ended;
}

function Script({ form, wrong }: { readonly form: Signal<RunForm>; readonly wrong: readonly FormField[] }) {
  const isWrong = wrong.includes('text');
  return (
    <label class="run-script">
      <span>{T.text}</span>
      <textarea
        id="run-text"
        rows={Math.min(16, Math.max(4, form.value.text.split('\n').length + 1))}
        value={form.value.text}
        placeholder={T.textHint}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        aria-invalid={isWrong}
        onInput={({ currentTarget }) => (form.value = { ...form.value, text: currentTarget.value })}
      />
      {isWrong && <span class="wrong">{T.wrong.text}</span>}
    </label>
  );
}

/** Whether somebody still wants it who sees whom it reaches. Throws what is to be said. */
async function isWanted(
  live: Live,
  { targeting, command_text: script }: NewCommand,
  isThere: { readonly current: boolean },
): Promise<boolean> {
  const { node_count: count, nodes } = await live.now.preview_targeting.query({
    targeting,
    max_nodes: NAMED_NODES_MAX,
  });
  if (!isThere.current) return false;
  if (count === 0) throw new Error(RUN.preview.none);
  const isForAll = targeting.type === 'all' && Object.keys(targeting).length === 1;
  if (!isForAll && count <= UNASKED_NODES_MAX) return true;
  const names = nodes.map(({ name, cluster_name: cluster }) => `${name}  ${cluster}`);
  return confirmed({
    title: isForAll ? RUN.confirm.all(count) : RUN.confirm.title(count),
    text: RUN.confirm.text(script.slice(0, 500)),
    items: count > names.length ? [...names, RUN.confirm.more(count - names.length)] : names,
    action: RUN.confirm.action(count),
  });
}

/** It, once it is stored. */
function stored({ live, submissions }: SendingKit, made: MadeCommand, unanswered: () => void) {
  return submissions.send(made, newKey, {
    create: (input) => live.api.create_command.mutate(input),
    unanswered,
    nowMs: () => performance.now(),
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  });
}

function focusOn(field: FormField | undefined): void {
  if (field !== undefined) document.querySelector<HTMLElement>(`#run-${field}`)?.focus();
}
