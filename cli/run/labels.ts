/** What the nodes of a run are called where it tells of them. */
import type { Api } from '../service/client.ts';
import { labelsFor, type Reading } from '../output/outputs.ts';
import { Patience } from '../service/patience.ts';
import { shortIds } from '../table/short-ids.ts';

/**
 * No page of names is waited for longer than this, in ms: within 5 s a service answers or says that it cannot (L3), and
 * it may be asked again.
 */
const NAMES_MS_MAX = 10_000;

/** How long names are waited for, and who hears that there are none. */
export interface LabelOptions {
  /** Aborts when nobody waits any more. */
  readonly leave: AbortSignal;
  /** Told why the ids stand for the names. */
  readonly unknown: (error: unknown) => void;
  /** Made for each page: aborts when it is waited for no longer. */
  readonly limit?: () => AbortSignal;
}

/** The names of these nodes, or as much of their ids as tells them apart where no names come in time. Never rejects. */
export async function labelsInTime(
  api: Api,
  nodes: readonly string[],
  { leave, unknown, limit = () => AbortSignal.timeout(NAMES_MS_MAX) }: LabelOptions,
): Promise<(node: string) => string> {
  const reading: Reading = (read) => {
    const signal = AbortSignal.any([leave, limit()]);
    return new Patience({ signal, failing() {} }).ask(read); // the last failure is told, where no names come
  };
  try {
    return await labelsFor(api, nodes, reading);
  } catch (error) {
    if (!leave.aborted) unknown(error);
    return shortIds(nodes);
  }
}
