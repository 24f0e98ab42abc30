/** What the nodes of a run are called where it tells of them. */
import type { Api } from '../service/client.ts';
import { labelsFor } from '../output/outputs.ts';
import { Patience } from '../service/patience.ts';
import { shortIds } from '../table/short-ids.ts';

/**
 * Outputs wait for names no longer than this, in ms: within 5 s a service answers or says that it cannot (L3), and it
 * may be asked again.
 */
const NAMES_MS_MAX = 10_000;

/** How long names are waited for, and who hears that there are none. */
export interface LabelOptions {
  /** Aborts when nobody waits any more. */
  readonly leave: AbortSignal;
  /** Told why the ids stand for the names. */
  readonly unknown: (error: unknown) => void;
  readonly msMax?: number;
}

/** The names of these nodes, or as much of their ids as tells them apart where no names come in time. Never rejects. */
export async function labelsInTime(
  api: Api,
  nodes: readonly string[],
  { leave, unknown, msMax = NAMES_MS_MAX }: LabelOptions,
): Promise<(node: string) => string> {
  const signal = AbortSignal.any([leave, AbortSignal.timeout(msMax)]);
  const patience = new Patience({ signal, failing() {} }); // the last failure is told, where none of the names come
  try {
    return await patience.ask(() => labelsFor(api, nodes, { signal }));
  } catch (error) {
    if (!leave.aborted) unknown(error);
    return shortIds(nodes);
  }
}
