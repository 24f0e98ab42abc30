/** What goes on in the whole fleet. */
import { ok } from '../../actors/refusal.ts';
import { OverviewResource } from '../../actors/resources/overview.ts';
import { nothing } from '../inputs/inputs.ts';
import { operation } from '../operation.ts';
import { linked } from '../forwarding/peer-admin-links.ts';

export const get_overview = operation({
  name: 'get_overview',
  kind: 'query',
  summary:
    'Get what goes on in the fleet: nodes by status, commands, executions and failures, deliveries, events, admins.',
  rest: { method: 'GET', path: '/overview', status: 200 },
  input: nothing,
  output: OverviewResource,
  handle: async (_input, { ports }) => {
    const { admins, ...counts } = await ports.overview();
    return ok({ ...counts, admins: admins?.map((admin) => linked(admin, ports)) ?? null });
  },
});
