/** What was done in SSH sessions. */
import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/**
 * A recorded session. `nodeId` and `sshUsernameId` are plain columns: a recording outlives both. `content` is a gzipped
 * asciicast.
 */
export const SshRecording = defineEntity({
  name: 'SshRecording',
  tableName: 'ssh_recording',
  properties: {
    id: p.uuid().primary(),
    nodeId: p.uuid(),
    clusterName: p.text(),
    sshUsernameId: p.uuid(),
    username: p.text(),
    command: p.text().nullable(),
    startedAt: instant(),
    durationMs: p.integer(),
    width: p.integer(),
    height: p.integer(),
    truncated: p.boolean(),
    sizeBytes: p.integer(),
    content: p.uint8array(),
    insertedAt: instant(),
  },
  indexes: [
    { name: 'ssh_recording_newest', properties: ['insertedAt', 'id'] },
    { name: 'ssh_recording_of_node', properties: ['nodeId', 'insertedAt'] },
    { name: 'ssh_recording_of_username', properties: ['username', 'insertedAt'] },
  ],
});
