/** Whom a targeting reaches: its group is looked up first, then all of it is evaluated in one snapshot (C2). */
import { ok, refuse, type Result } from '../actors/refusal.ts';
import { isPlain, type PlainTargeting, type Target, type Targeting } from '../actors/targeting-schema.ts';
import type { Reads } from './ports.ts';

/** The nodes. A group that does not exist is refused under the field that names it. */
export function targetsOf(reads: TargetReads, targeting: Targeting): Promise<Result<readonly Target[]>> {
  return narrowed(reads, targeting, null);
}

/** Those of them that are healthy and take part in self-updates, in the same snapshot. */
export function updatableNodesOf(reads: TargetReads, targeting: Targeting): Promise<Result<readonly Target[]>> {
  return narrowed(reads, targeting, UPDATABLE);
}

type TargetReads = Pick<Reads, 'targets' | 'groupTargeting'>;

const UPDATABLE: PlainTargeting = { type: 'all', node_filters: { status: 'healthy', self_update_enabled: true } };

async function narrowed(
  reads: TargetReads,
  targeting: Targeting,
  by: PlainTargeting | null,
): Promise<Result<readonly Target[]>> {
  if (isPlain(targeting)) return ok(await reads.targets(targeting, null, by));
  const name = targeting.group ?? '';
  const group = await reads.groupTargeting(name);
  if (group === null)
    return refuse('validation_failed', 'Validation failed', { 'targeting.group': [`there is no group ${name}`] });
  return ok(await reads.targets(targeting, group, by));
}
