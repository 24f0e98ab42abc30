/** Admins that share this database. */
import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/** The id that an admin of this name has, whether it runs or not. */
export const AdminIdentity = defineEntity({
  name: 'AdminIdentity',
  tableName: 'admin_identity',
  properties: {
    name: p.text().primary(),
    id: p.uuid(),
    insertedAt: instant(),
    /** It gives its clusters to others, and takes none. */
    drainingSince: instant().nullable(),
    /** Of its embedded relay, its own among all admins. */
    relayRegion: p.integer().nullable().unique(),
    /** Where that relay is, for the map. */
    relay: p.json().nullable(),
    /** Since when no admin of this name is in the list; means nothing while one is. */
    goneSince: instant().nullable(),
  },
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
    /** Of its process. Null, as the two that follow: a release from before admins called each other. */
    instanceId: p.uuid().nullable(),
    /** Since when its process stops: it is given no clusters. */
    stoppingSince: instant().nullable(),
    /** Where other admins reach it; null also as long as it does not listen. */
    peerUrl: p.text().nullable(),
    linkVersion: p.integer().nullable(),
    /** What does not work there: of the process that it names. */
    problems: p.json().nullable(),
  },
});
