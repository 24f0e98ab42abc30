/** SSH usernames and their keys as clients see them. A password, or what it is kept as, is never among their fields (E4). */
import { z } from 'zod';
import type { SshPublicKeyResource, SshUsernameResource } from '../../actors/resources.ts';

const publicKey = z.object({
  id: z.uuid(),
  public_key: z.string().describe('One line as OpenSSH writes it.'),
  fingerprint: z.string().describe('As ssh-keygen -l shows it.'),
  key_name: z.string(),
  ssh_username_id: z.uuid(),
  inserted_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

/** A key: the fields of `SshPublicKeyResource`. */
export const SshPublicKeyView: z.ZodType<SshPublicKeyResource> = publicKey.meta({ id: 'SshPublicKey', description: 'A key that opens what its SSH username opens.' });

/** A username: the fields of `SshUsernameResource`. */
export const SshUsernameView: z.ZodType<SshUsernameResource> = z.object({
  id: z.uuid(),
  username: z.string(),
  has_password: z.boolean().describe('Whether a password opens it. The password itself is never shown.'),
  node_id: z.uuid(),
  public_keys: z.array(publicKey).nullable().describe('On create and single read; null in lists.'),
  inserted_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
}).meta({ id: 'SshUsername', description: 'A name that opens one node by SSH, with a key or a password.' });
