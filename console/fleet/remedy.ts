/** What to do about a node that is not healthy, by what its status rests on, and by what it says once it is asked. */
import { refusalOf } from '../../api/client/client.ts';
import type { NodeResource } from '../../actors/resources/node.ts';

/** What there is to do. The texts of the overview have a sentence for each. */
export type Remedy = 'start' | 'reach' | 'services' | 'vpn' | 'diagnose';

/** Null: it is healthy. */
export function remedyOf({
  status,
  status_evidence: evidence,
}: Pick<NodeResource, 'status' | 'status_evidence'>): Remedy | null {
  if (status === 'healthy') return null;
  if (status === 'unreachable') return evidence === null ? 'start' : 'reach';
  if (evidence === null) return 'diagnose';
  if (evidence.services.length > 0) return 'services';
  return evidence.vpn !== null && evidence.vpn.path === 'none' ? 'vpn' : 'diagnose';
}

/** Names one illness of a node: what was advised of another one, or of the time before, does not hold for it. */
export function illnessOf({ status, status_since: since }: Pick<NodeResource, 'status' | 'status_since'>): string {
  return `${status} ${since}`;
}

/** What came of a diagnosis, in lines. `isAnswer`: the node said it; else why it could not be asked. */
export interface Diagnosed {
  readonly lines: readonly string[];
  readonly isAnswer: boolean;
}

/** What a diagnosis advises, each once. Never rejects. */
export async function diagnosedBy(
  ask: () => Promise<{ readonly checks: readonly { readonly hint?: string | null | undefined }[] }>,
  texts: { readonly noHint: string; readonly notAsked: string },
): Promise<Diagnosed> {
  try {
    const { checks } = await ask();
    const hints = checks.flatMap(({ hint }) => hint ?? []);
    return { lines: hints.length === 0 ? [texts.noHint] : [...new Set(hints)], isAnswer: true };
  } catch (error) {
    return { lines: [refusalOf(error)?.message ?? texts.notAsked], isAnswer: false };
  }
}
