/** Something that is done to a node by an operation: what came of it is said, a refusal in the service's words. */
import { refusalOf } from '../../../api/client/client.ts';
import { notify } from '../../parts/notice.tsx';

/** Does it. `done`: what is said then. False: it was refused, and said so. */
export async function doing(what: () => Promise<unknown>, done: string): Promise<boolean> {
  try {
    await what();
    notify({ text: done });
    return true;
  } catch (error) {
    notify({ text: problemOf(error), kind: 'failed' });
    return false;
  }
}

/** Why the service refused, with what is wrong with which field. */
export function problemOf(error: unknown): string {
  const refusal = refusalOf(error);
  if (refusal === null) return String(error);
  const fields = Object.entries(refusal.details ?? {}).map(([field, problems]) => `${field} ${problems.join(', ')}`);
  return fields.length === 0 ? refusal.message : fields.join('; ');
}
