/** The manager of networks: its hosts, and who reconciles. */
import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/** Which host of the manager is which node. Never shown to anyone. */
export const VpnHost = defineEntity({
  name: 'VpnHost',
  tableName: 'vpn_host',
  properties: {
    nodeId: p.uuid().primary(),
    hostId: p.text().unique('vpn_host_taken'),
    insertedAt: instant(),
  },
});

/** Who may reconcile, by the database's clock. */
export const VpnLease = defineEntity({
  name: 'VpnLease',
  tableName: 'vpn_lease',
  properties: {
    name: p.text().primary(),
    adminId: p.uuid().nullable(),
    epoch: p.bigint('string'),
    leaseUntil: instant().nullable(),
  },
});
