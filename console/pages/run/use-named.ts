/** The nodes that the form names: looked up by their names, as somebody types them. */
import { useComputed, useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { messageOf } from '../../failure.ts';
import { idsOf, isNodeId, nodesNamed, type Named } from '../../lists/named-nodes.ts';
import type { Live } from '../../live.ts';
import { namesIn, type KnownNodes, type RunForm } from '../../run/form.ts';
import { RUN } from '../../texts/run.ts';

const T = RUN.form;

/** What is typed is looked up after this, in ms: not at each letter. */
const TYPED_MS = 300;

/** What was found of what was typed. */
interface Found {
  /** What was typed. */
  readonly of: string;
  readonly ids: KnownNodes;
  /** Why they are not known, as a sentence; null: nothing is wrong, or nobody was asked yet. */
  readonly problem: string | null;
}

/** The nodes that the form names. */
export interface NamedNodes {
  /** Null: they are not known, or are those of what was typed before. */
  readonly ids: ReadonlySignal<KnownNodes>;
  readonly problem: ReadonlySignal<string | null>;
  /**
   * Resolves once the names were looked up anew: an alias may lead to another node by now, and the service may answer
   * again. Without a connection that is a problem at once. Never for a page that was left.
   */
  readonly settled: () => Promise<void>;
}

/** Looks them up as long as the form is there. Ids alone are not looked up. */
export function useNamed(live: Live, form: Signal<RunForm>): NamedNodes {
  const found = useSignal<Found | null>(null);
  const round = useSignal(0);
  /** They are looked up as somebody sends them off. */
  const isPressed = useRef(false);
  const text = useComputed(() => (form.value.place === 'nodes' ? form.value.nodes : ''));
  const current = useComputed(() => (found.value?.of === text.value ? found.value : null));
  const ids = useComputed(() => current.value?.ids ?? null);
  const problem = useComputed(() => current.value?.problem ?? null);
  const isSettled = useComputed(() => current.value !== null);
  useEffect(() => {
    const of = text.value;
    const names = namesIn(of);
    const api = isPressed.current ? live.now : live.api;
    isPressed.current = false;
    let isWanted = true;
    const tell = (news: Partial<Found>): void => {
      if (isWanted) found.value = { of, ids: null, problem: null, ...news };
    };
    if (names.every(isNodeId)) {
      tell({ ids: names });
      return undefined;
    }
    const timer = setTimeout(() => {
      nodesNamed(names, (name) => idsOf(api, name)).then(
        (one) => tell('ids' in one ? { ids: one.ids } : { problem: problemWith(one) }),
        (error: unknown) => tell({ problem: messageOf(error) }),
      );
    }, TYPED_MS);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [live, text.value, round.value]);
  const settled = (): Promise<void> => {
    if (!namesIn(text.value).every(isNodeId)) {
      found.value = null;
      isPressed.current = true;
      round.value += 1;
    }
    return whenTrue(isSettled);
  };
  return { ids, problem, settled };
}

function problemWith(found: Exclude<Named, { readonly ids: unknown }>): string {
  if ('unknown' in found) return T.noNode(found.unknown);
  return 'several' in found ? T.manyNodes(found.several) : T.tooManyNames(found.tooMany);
}

function whenTrue(signal: ReadonlySignal<boolean>): Promise<void> {
  return new Promise((resolve) => {
    const stop = signal.subscribe((isTrue) => {
      if (!isTrue) return;
      resolve();
      queueMicrotask(() => stop()); // it is told of the present one before this is there
    });
  });
}
