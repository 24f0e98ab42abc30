/** This admin and its health. */
import { ok } from '../../actors/refusal.ts';
import { nothing } from '../inputs.ts';
import { operation } from '../operation.ts';
import { AdminView, HealthView } from '../views/admin.ts';

export const get_admin = operation({
  name: 'get_admin',
  kind: 'query',
  summary: 'Get the identity, version and capacity of the admin that answers.',
  rest: { method: 'GET', path: '/admins/me', status: 200 },
  input: nothing,
  output: AdminView,
  handle: async (_input, { ports }) => ok(await ports.admin.me()),
});

export const check_admin_health = operation({
  name: 'check_admin_health',
  kind: 'query',
  summary: 'Run all subsystem checks of this admin at once and tell which passed.',
  rest: null,
  input: nothing,
  output: HealthView,
  handle: async (_input, { ports }) => {
    const checks = await ports.checkHealth();
    return ok({ healthy: checks.every((check) => check.healthy), checks });
  },
});
