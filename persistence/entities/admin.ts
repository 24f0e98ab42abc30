/** Admins that share this database. */
import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/** The id that an admin of this name has, whether it runs or not. */
export const AdminIdentity = defineEntity({
  name: 'AdminIdentity',
  tableName: 'admin_identity',
  properties: { name: p.text().primary(), id: p.uuid(), insertedAt: instant() },
});

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
