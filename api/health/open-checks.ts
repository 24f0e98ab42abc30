/** The checks of this admin and of all admins together, as those who ask share them. */
import { monotonicMs } from '../../transport/net/clock.ts';
import type { OperationPorts } from '../ports.ts';
import { adminCluster } from './admin-cluster.ts';
import { recentChecks, sharedChecks } from './check-runner.ts';
import type { HealthPorts } from './ports.ts';
import { subsystems } from './subsystems.ts';

/** Checks of these. */
export function openChecks(
  health: HealthPorts,
): Pick<OperationPorts, 'checkHealth' | 'checkClusterHealth' | 'recentHealth'> {
  const checkHealth = sharedChecks(subsystems(health));
  return {
    checkHealth,
    checkClusterHealth: sharedChecks(adminCluster(health)),
    recentHealth: recentChecks(checkHealth, monotonicMs),
  };
}
