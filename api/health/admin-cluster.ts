/** All admins that share this database, as any one of them sees them: what /health/cluster checks. */
import { ADMIN_GONE_MS } from '../../actors/resources/admin.ts';
import { degradation } from '../../actors/standing.ts';
import { HealthNote, HealthProblem, type HealthCheck } from './check-runner.ts';
import type { HealthPorts } from './ports.ts';
import { takesWrites, unreachedNote } from './subsystems.ts';

/** An admin checks in each second. Silent for longer than this, it is missing, in ms. */
export const ADMIN_SILENT_MS_MIN = 5_000;

/** All of them, in a fixed order. */
export function adminCluster({
  rows,
  standing,
  broker,
  links,
}: Pick<HealthPorts, 'rows' | 'standing' | 'broker' | 'links'>): readonly HealthCheck[] {
  return [
    { name: 'database', check: () => takesWrites(rows) },
    {
      name: 'admins',
      async check() {
        const { total, silent, draining } = await rows.admins(ADMIN_SILENT_MS_MIN, ADMIN_GONE_MS);
        if (silent > 0)
          throw new HealthProblem(
            `${silent} of ${total} admins have not checked in for over ${ADMIN_SILENT_MS_MIN / 1_000} s`,
          );
        if (draining > 0) throw new HealthNote(`${draining} of ${total} admins ${draining === 1 ? 'drains' : 'drain'}`);
      },
    },
    {
      name: 'admin_links',
      async check() {
        const note = unreachedNote(links());
        if (note !== null) throw new HealthProblem(note);
      },
    },
    {
      name: 'cluster_owners',
      async check() {
        const { total, ownerless } = await rows.clusters();
        if (ownerless > 0) throw new HealthProblem(`${ownerless} of ${total} clusters have no live owner`);
      },
    },
    {
      name: 'tasks',
      async check() {
        const idle = await rows.idleTasks(broker !== null);
        if (idle.length > 0) throw new HealthProblem(`no live admin does what one should: ${idle.join(', ')}`);
      },
    },
    {
      name: 'capacity',
      async check() {
        const problem = degradation(standing());
        if (problem !== null) throw new HealthProblem(problem);
      },
    },
  ];
}
