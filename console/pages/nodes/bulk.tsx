/** One thing done to many nodes: how far it is, and what failed. It goes on while one looks at other pages. */
import { signal } from '@preact/signals';
import { doEach, untilSent, type Bulk, type BulkProgress } from '../../bulk.ts';
import { problemOf } from '../../failure.ts';
import type { Fleet } from '../../fleet/feed.ts';
import { lineOf } from '../../fleet/node-actions.ts';
import { NODE_ACTIONS as T } from '../../texts/node-actions.ts';

/** Failures that are drawn; how many more there are is said. */
const FAILED_MAX = 100;

/** Drawn at most this often, in ms: thousands of nodes may be done in a second. */
const TOLD_MS = 100;

interface Running {
  readonly title: string;
  readonly progress: BulkProgress;
  readonly again: (ids: readonly string[]) => void;
  readonly stop: AbortController;
}

/** The last one. One runs at a time. */
const running = signal<Running | null>(null);

/** The end of all that was begun; null: nothing is under way. */
let ended: Promise<void> | null = null;

/** Rises when somebody signs out: what waited for its turn then is not begun. */
let signOuts = 0;

/** Whether one is under way. */
export function isBusy(): boolean {
  return running.value !== null && !running.value.progress.isOver;
}

/** Nobody is signed in any more: what is not begun is not done. */
export function stopBulk(): void {
  signOuts += 1;
  running.peek()?.stop.abort();
  running.value = null;
}

/** Does it to each of them, one a call. What is chosen stays chosen. */
export function actOnEach(title: string, ids: readonly string[], act: (id: string) => Promise<unknown>): Promise<void> {
  return actOnSome(title, ids, { perCall: 1, act: async ([id = '']) => act(id).then(() => []) });
}

/** Does it to some of them a call, after what is under way. */
export async function actOnSome(
  title: string,
  ids: readonly string[],
  call: Pick<Bulk, 'perCall' | 'act'>,
): Promise<void> {
  const before = signOuts;
  const act = async (): Promise<void> => (before === signOuts ? actNow(title, ids, call) : undefined);
  const own = ended === null ? act() : ended.then(act);
  ended = own;
  await own;
  if (ended === own) ended = null;
}

async function actNow(
  title: string,
  ids: readonly string[],
  { perCall, act }: Pick<Bulk, 'perCall' | 'act'>,
): Promise<void> {
  const stop = new AbortController();
  const again = (failed: readonly string[]): void => void actOnSome(title, failed, { perCall, act });
  let toldMs = 0;
  await doEach({
    ids,
    perCall,
    act: untilSent(act, stop.signal),
    wordsOf: problemOf,
    signal: stop.signal,
    told(progress) {
      const now = performance.now();
      if (stop.signal.aborted && running.peek()?.stop !== stop) return;
      if (!progress.isOver && progress.done > 0 && now - toldMs < TOLD_MS) return;
      toldMs = now;
      running.value = { title, progress, again, stop };
    },
  });
}

/** Where it is shown. */
export function BulkState({ fleet }: { readonly fleet: Fleet }) {
  const now = running.value;
  if (now === null) return null;
  const { title, progress, again, stop } = now;
  const { done, total, failed, isOver } = progress;
  return (
    <div class={failed.length > 0 ? 'bulk bad' : 'bulk'} role="status" aria-label={title}>
      <div class="line">
        <strong>{title}</strong>
        <span>{isOver ? T.over(done, total, failed.length) : T.done(done, total)}</span>
        {!isOver && <progress max={total} value={done} aria-label={title} />}
        {!isOver && (
          <button type="button" disabled={stop.signal.aborted} onClick={() => stop.abort()}>
            {T.stop}
          </button>
        )}
        {isOver && failed.length > 0 && (
          <button type="button" onClick={() => again(failed.map(({ id }) => id))}>
            {T.again(failed.length)}
          </button>
        )}
        {isOver && (
          <button type="button" onClick={() => (running.value = null)}>
            {T.away}
          </button>
        )}
      </div>
      {failed.length > 0 && (
        <ul tabIndex={0} aria-label={T.failed}>
          {failed.slice(0, FAILED_MAX).map(({ id, why }) => (
            <li key={id}>
              <bdi>{lineOf(id, fleet.rows.get(id))}</bdi>: <bdi>{why}</bdi>
            </li>
          ))}
          {failed.length > FAILED_MAX && <li>{T.more(failed.length - FAILED_MAX)}</li>}
        </ul>
      )}
    </div>
  );
}
