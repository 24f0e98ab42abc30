/** What to do about a node that is not healthy, by what its status rests on. Pure. */
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
