/** Diagnoses of many nodes, of which one that cannot be had keeps nobody from reading the others. */
import { isFailedCall, isRefusal, problemOf, type AskedService } from '../problem.ts';
import type { Api } from '../service/client.ts';

/** What a node says of itself. */
export type Report = Awaited<ReturnType<Api['get_node_diagnostics']['query']>>;

/**
 * A node's report, or why there is none: it was deleted meanwhile or cannot be asked now, or the admin died that was
 * asked. Rejects with a bug alone.
 */
export async function diagnosed(api: Api, id: string, asked: AskedService): Promise<Report | string> {
  try {
    return await api.get_node_diagnostics.query({ id });
  } catch (error) {
    if (isRefusal(error)) return error.message;
    if (isFailedCall(error)) return problemOf(error, asked).message;
    throw error;
  }
}
