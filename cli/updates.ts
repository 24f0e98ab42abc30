/**
 * A self-update request as somebody follows it: read again and again until it is completed, with one line of progress.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Api, Outputs } from './service/client.ts';
import { Patience } from './service/patience.ts';
import { tell } from './output/output.ts';
import { reasonOf } from './problem.ts';
import { createProgressLine } from './run/progress.ts';

/** A request, as the service answers it. */
export type Update = Outputs['get_self_update_request'];

/** Between two reads, in ms: the service looks as often at nodes of other admins. */
const READ_EVERY_MS = 1_000;

/**
 * Follows one that is there. Null: `signal` aborts before it is completed. A service that is away is told of once, and
 * asked again; rejects with any other refusal.
 */
export async function followUpdate(api: Api, { id }: Pick<Update, 'id'>, signal: AbortSignal): Promise<Update | null> {
  const line = createProgressLine<Update>(process.stderr, () => performance.now(), {
    text: updateText,
    isLast: isOver,
  });
  const patience = new Patience({
    signal,
    failing(error) {
      line.clear();
      tell(`how far it is cannot be read now (${reasonOf(error)}); trying again`);
    },
  });
  try {
    while (!signal.aborted) {
      const update = await patience.ask(() => api.get_self_update_request.query({ id }, { signal }));
      if (isOver(update)) return update;
      line.show(update);
      await wait(READ_EVERY_MS, undefined, { signal }).catch(() => {}); // it only rejects when somebody wants to leave, which ends the loop
    }
    return null;
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  } finally {
    line.clear();
  }
}

function isOver({ status }: Update): boolean {
  return status === 'completed';
}

/** `12/40 triggered, 8 updated, 1 failed, 28 waiting, 3 s`. */
export function updateText({ progress }: Update, elapsedMs: number): string {
  if (progress === undefined) return '';
  const { waiting, triggered, failed, skipped, updated, rolled_back: back } = progress;
  return [
    `${triggered + updated + back}/${waiting + triggered + failed + skipped + updated + back} triggered`,
    updated > 0 && `${updated} updated`,
    back > 0 && `${back} went back`,
    failed > 0 && `${failed} failed`,
    skipped > 0 && `${skipped} skipped`,
    waiting > 0 && `${waiting} waiting`,
    `${Math.round(elapsedMs / 1_000)} s`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** `39 of 40 triggered, 38 updated, 1 failed, 12 s`. */
export function endText(update: Update, elapsedMs: number): string {
  return updateText(update, elapsedMs).replace('/', ' of ');
}
