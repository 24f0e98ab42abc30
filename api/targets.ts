/** Whom a targeting reaches: its group is looked up first, then all of it is evaluated in one snapshot (C2). */
import { ok, refuse, type Result } from '../actors/refusal.ts';
import { isPlain, type Target, type Targeting } from '../actors/targeting.ts';
import type { Reads } from './ports.ts';

/** The nodes. A group that does not exist is refused under the field that names it. */
export async function targetsOf(
  reads: Pick<Reads, 'targets' | 'groupTargeting'>,
  targeting: Targeting,
): Promise<Result<readonly Target[]>> {
  if (isPlain(targeting)) return ok(await reads.targets(targeting));
  const name = targeting.group ?? '';
  const group = await reads.groupTargeting(name);
  if (group === null)
    return refuse('validation_failed', 'Validation failed', { 'targeting.group': [`there is no group ${name}`] });
  return ok(await reads.targets(targeting, group));
}
