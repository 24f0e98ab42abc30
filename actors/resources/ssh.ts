/**
 * SSH usernames, their keys and recordings of their sessions as clients see them. A password, or what it is kept as, is
 * never among their fields (E4).
 */
import { z } from 'zod';
import { resource, stored } from './resource.ts';

const publicKey = {
  id: z.uuid(),
  public_key: z.string().describe('One line as OpenSSH writes it.'),
  fingerprint: z.string().describe('As ssh-keygen -l shows it.'),
  key_name: z.string(),
  ssh_username_id: z.uuid(),
  ...stored,
};

/** A key of an SSH username. */
export const SshPublicKeyResource = resource(
  'SshPublicKey',
  'A key that opens what its SSH username opens.',
  publicKey,
);
export type SshPublicKeyResource = z.output<typeof SshPublicKeyResource>;

/** An SSH username. Its keys are by name. */
export const SshUsernameResource = resource(
  'SshUsername',
  'A name that opens one node by SSH, with a key or a password.',
  {
    id: z.uuid(),
    username: z.string(),
    has_password: z.boolean().describe('Whether a password opens it. The password itself is never shown.'),
    node_id: z.uuid(),
    public_keys: z.array(z.object(publicKey)).nullable().describe('On create and single read; null in lists.'),
    ...stored,
  },
);
export type SshUsernameResource = z.output<typeof SshUsernameResource>;

/** A recording of an SSH session. It outlives its node and its user; its terminal is measured in characters. */
export const SshRecordingResource = resource(
  'SshRecording',
  'What an SSH session showed, with its timing. It is kept when its node or its user is deleted, until it is too old.',
  {
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
  },
);
export type SshRecordingResource = z.output<typeof SshRecordingResource>;
