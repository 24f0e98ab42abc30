/** SSH usernames and their keys as rows. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { SshPublicKeyRecord } from '../../actors/records.ts';
import type { ColdWrite } from '../../actors/writes.ts';
import { SshPublicKey, SshUsername } from '../entities/ssh-username.ts';
import { GuardRefused, NOTHING_TO_TELL } from './written.ts';
import type { Written } from './written.ts';

type SshWrite = Extract<ColdWrite, { kind: `ssh-${string}` }>;

/** SSH usernames of one node, and keys of one username, at most. */
export const SSH_USERNAMES_MAX = 256;
export const SSH_PUBLIC_KEYS_MAX = 64;

/**
 * Writes one of them. The writes of a node come one after another, so that what is counted here still holds when it is
 * stored.
 */
export async function writeSsh(em: EntityManager, write: SshWrite): Promise<Written> {
  switch (write.kind) {
    case 'ssh-username-created': {
      const { id, username, passwordHash, keys } = write.username;
      if ((await em.count(SshUsername, { node: write.node })) >= SSH_USERNAMES_MAX)
        throw full(`The node has ${SSH_USERNAMES_MAX} SSH usernames already. Delete some first.`);
      const at = new Date(write.atMs);
      await em.insert(SshUsername, { id, node: write.node, username, passwordHash, insertedAt: at, updatedAt: at });
      if (keys.length > 0)
        await em.insertMany(
          SshPublicKey,
          keys.map((key) => keyRow(id, key, at)),
        );
      return NOTHING_TO_TELL;
    }
    case 'ssh-username-deleted':
      return found(await em.nativeDelete(SshUsername, { id: write.id, node: write.node }));
    case 'ssh-public-key-created': {
      const username = await em.execute<unknown[]>(
        'select 1 from ssh_username where id = ? and node_id = ? for update',
        [write.sshUsername, write.node],
      );
      found(username.length);
      if ((await em.count(SshPublicKey, { sshUsername: write.sshUsername })) >= SSH_PUBLIC_KEYS_MAX)
        throw full(`The SSH username has ${SSH_PUBLIC_KEYS_MAX} keys already. Delete some first.`);
      await em.insert(SshPublicKey, keyRow(write.sshUsername, write.key, new Date(write.atMs)));
      return NOTHING_TO_TELL;
    }
    case 'ssh-public-key-deleted': {
      const gone = await em.execute<unknown[]>(
        'delete from ssh_public_key k using ssh_username u where k.id = ? and u.id = k.ssh_username_id and u.node_id = ? returning k.id',
        [write.id, write.node],
      );
      return found(gone.length);
    }
    default:
      throw new Error(`no such write: ${JSON.stringify(write satisfies never)}`);
  }
}

function keyRow(sshUsername: string, { id, keyName, line, fingerprint }: SshPublicKeyRecord, at: Date) {
  return { id, sshUsername, keyName, publicKey: line, fingerprint, insertedAt: at, updatedAt: at };
}

function found(count: number): Written {
  if (count === 0) throw new GuardRefused({ code: 'not_found', message: 'Resource not found' });
  return NOTHING_TO_TELL;
}

function full(message: string): GuardRefused {
  return new GuardRefused({ code: 'conflict', message });
}
