/** Recordings of SSH sessions. Agents upload them (api/rest/recordings.ts); here they are read and deleted. */
import { z } from 'zod';
import { Uuid } from '../../transport/protocol/ids.ts';
import { listInput } from '../inputs/list-input.ts';
import { operation } from '../operation.ts';
import { found, page } from '../reading.ts';
import { SshRecordingResource } from '../../actors/resources/ssh.ts';

export const list_ssh_recordings = operation({
  name: 'list_ssh_recordings',
  kind: 'query',
  summary: 'List recordings of SSH sessions, without what they show.',
  rest: { method: 'GET', path: '/ssh_recordings', status: 200 },
  list: true,
  input: listInput('ssh_recordings'),
  output: SshRecordingResource,
  handle: (query, { ports }) => page(ports.reads.list('ssh_recordings', query)),
});

export const get_ssh_recording = operation({
  name: 'get_ssh_recording',
  kind: 'query',
  summary:
    'Get a recording of an SSH session as asciicast (version 2). It may be large: SSH_RECORDING_MAX_BYTES of when it was made.',
  rest: { method: 'GET', path: '/ssh_recordings/:id', status: 200 },
  input: z.strictObject({ id: Uuid }),
  output: SshRecordingResource,
  handle: ({ id }, { ports }) => found(ports.reads.get('ssh_recordings', id)),
});

export const delete_ssh_recording = operation({
  name: 'delete_ssh_recording',
  kind: 'mutation',
  summary: 'Delete a recording of an SSH session.',
  rest: { method: 'DELETE', path: '/ssh_recordings/:id', status: 204 },
  input: z.strictObject({ id: Uuid }),
  output: z.null(),
  handle: ({ id }, { ports }) => ports.records.deleteRecording(id),
});
