/** Events of credentials that were shown: enrolment keys and SSH usernames. The credential itself is never in them. */
import { z } from 'zod';
import { eventType, id, idOrNull, instantText } from './definition.ts';
import { EXAMPLE_CLUSTER, EXAMPLE_IDS, EXAMPLE_TIMES } from './examples.ts';

// Source: docs/events.md.
const KEY_RESULTS = ['verified', 'invalid_key', 'key_expired', 'key_spent', 'node_limit_reached'] as const;

const verifiedKey = z
  .strictObject({
    enrollment_key_id: idOrNull('The key.'),
    cluster_name: z.string().nullable().describe('Its cluster.'),
    name: z.string().nullable().describe('Its name. Null when it has none.'),
    uses_remaining: z.int().min(0).nullable().describe('Uses left after this attempt. Null when it is unlimited.'),
    result: z
      .enum(KEY_RESULTS)
      .describe('What became of the attempt. All of the above are null when it is invalid_key.'),
    verified_at: instantText('When it was tried.'),
  })
  .refine(
    ({ result, enrollment_key_id, cluster_name, name, uses_remaining }) =>
      result === 'invalid_key'
        ? [enrollment_key_id, cluster_name, name, uses_remaining].every((field) => field === null)
        : enrollment_key_id !== null && cluster_name !== null,
    'A key is told of when it is known, and only then.',
  );

const verifiedUsername = z
  .strictObject({
    ssh_username_id: idOrNull('The username. Null when the node has none of that name.'),
    node_id: id('The node that asked.'),
    username: z.string().describe('The name that was tried.'),
    cluster_name: z.string().nullable().describe('The cluster of the node. Null when the node has no such username.'),
    auth_method: z
      .enum(['password', 'public_key', 'unknown'])
      .describe('How it was tried; unknown when the username does not exist.'),
    result: z.enum(['success', 'failure']).describe('What became of the attempt.'),
    verified_at: instantText('When it was tried.'),
  })
  .refine(
    ({ ssh_username_id, cluster_name, auth_method, result }) =>
      ssh_username_id === null
        ? cluster_name === null && auth_method === 'unknown' && result === 'failure'
        : cluster_name !== null,
    'A username is told of when it is known, and only then.',
  );

/** By type. */
export const CREDENTIAL_EVENTS = {
  'edge.enrollment_key.verified': eventType({
    description:
      'An agent tried to enrol with a key, successfully or not. The first four fields are null when the key is not known.',
    data: verifiedKey,
    example: {
      time: EXAMPLE_TIMES.enrolled,
      data: {
        enrollment_key_id: EXAMPLE_IDS.key,
        cluster_name: EXAMPLE_CLUSTER,
        name: 'line 3',
        uses_remaining: 4,
        result: 'verified',
        verified_at: EXAMPLE_TIMES.enrolled,
      },
    },
  }),
  'edge.ssh_username.verified': eventType({
    description: 'An agent checked an SSH credential with the admin, successfully or not.',
    data: verifiedUsername,
    example: {
      time: EXAMPLE_TIMES.created,
      data: {
        ssh_username_id: EXAMPLE_IDS.username,
        node_id: EXAMPLE_IDS.node,
        username: 'operator',
        cluster_name: EXAMPLE_CLUSTER,
        auth_method: 'public_key',
        result: 'success',
        verified_at: EXAMPLE_TIMES.created,
      },
    },
  }),
};
