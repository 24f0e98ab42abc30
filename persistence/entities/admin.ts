/** Admins that share this database. */
import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/** One admin, as it last checked in. */
export const Admin = defineEntity({
  name: 'Admin',
  tableName: 'admin',
  properties: {
    id: p.uuid().primary(),
    name: p.text().unique(),
    url: p.text(),
    adminClusterName: p.text(),
    version: p.text(),
    maxWireguardPeers: p.integer(),
    startedAt: instant(),
    lastCheckedIn: instant(),
  },
});
