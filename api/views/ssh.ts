/**
 * SSH usernames, their keys and recordings of their sessions as clients see them. A password, or what it is kept as, is
 * never among their fields (E4).
 */
import { z } from 'zod';
import type { SshPublicKeyResource, SshRecordingResource, SshUsernameResource } from '../../actors/resources.ts';

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
export const SshPublicKeyView: z.ZodType<SshPublicKeyResource> = publicKey.meta({
  id: 'SshPublicKey',
  description: 'A key that opens what its SSH username opens.',
});

/** A username: the fields of `SshUsernameResource`. */
export const SshUsernameView: z.ZodType<SshUsernameResource> = z
  .object({
    id: z.uuid(),
    username: z.string(),
    has_password: z.boolean().describe('Whether a password opens it. The password itself is never shown.'),
    node_id: z.uuid(),
    public_keys: z.array(publicKey).nullable().describe('On create and single read; null in lists.'),
    inserted_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'SshUsername', description: 'A name that opens one node by SSH, with a key or a password.' });

/** A recording: the fields of `SshRecordingResource`. */
export const SshRecordingView: z.ZodType<SshRecordingResource> = z
  .object({
    id: z.uuid(),
    node_id: z.uuid(),
    cluster_name: z.string().describe('The cluster that the node was in when the recording arrived.'),
    ssh_username_id: z.uuid(),
    username: z.string(),
    command: z.string().nullable().describe('The beginning of what was run; null for a shell.'),
    started_at: z.iso.datetime().describe('By the clock of the machine.'),
    duration_ms: z.int(),
    width: z.int(),
    height: z.int(),
    truncated: z.boolean().describe('The session went on, and what came then was left out.'),
    size_bytes: z.int().describe('Of cast, in UTF-8.'),
    cast: z.string().nullable().describe('The recording as asciicast, version 2. Null in lists.'),
    inserted_at: z.iso.datetime(),
  })
  .meta({
    id: 'SshRecording',
    description:
      'What an SSH session showed, with its timing. It is kept when its node or its user is deleted, until it is too old.',
  });
