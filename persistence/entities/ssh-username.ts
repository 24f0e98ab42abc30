/** Who may log in to nodes by SSH. */
import { defineEntity, p } from '@mikro-orm/core';
import { dates } from './columns.ts';
import { Node } from './node.ts';

/** A name that opens one node. Never leaves this process with its password hash (E4). */
export const SshUsername = defineEntity({
  name: 'SshUsername',
  tableName: 'ssh_username',
  properties: {
    id: p.uuid().primary(),
    node: () => p.manyToOne(Node).deleteRule('cascade'),
    username: p.text(),
    passwordHash: p.text().nullable(),
    ...dates,
  },
  uniques: [{ name: 'ssh_username_taken', properties: ['node', 'username'] }],
});

/** A key that opens what its username opens. `fingerprint` is that of its blob. */
export const SshPublicKey = defineEntity({
  name: 'SshPublicKey',
  tableName: 'ssh_public_key',
  properties: {
    id: p.uuid().primary(),
    sshUsername: () => p.manyToOne(SshUsername).deleteRule('cascade'),
    keyName: p.text(),
    publicKey: p.text(),
    fingerprint: p.text(),
    ...dates,
  },
  uniques: [{ name: 'ssh_public_key_taken', properties: ['sshUsername', 'fingerprint'] }],
});
