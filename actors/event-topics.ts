/** Into which of five topics an event belongs: streams, topics and managed queues of brokers are cut along them. */
import type { EventType } from './events.ts';

/**
 * Names of the topics, in the order of docs/brokers.md, which is their source. Managed brokers must have them
 * provisioned.
 */
export const TOPICS = [
  'edge-nodes-events',
  'edge-commands-events',
  'edge-self-updates-events',
  'edge-ssh-events',
  'edge-core-events',
] as const;
/** One of them. */
export type Topic = (typeof TOPICS)[number];

/** By the second word of the type: `edge.node.registered` belongs to `node`. */
const TOPIC_OF: Readonly<Record<string, Topic>> = {
  node: 'edge-nodes-events',
  enrollment_key: 'edge-nodes-events',
  command_execution: 'edge-commands-events',
  self_update_request: 'edge-self-updates-events',
  ssh_username: 'edge-ssh-events',
  core: 'edge-core-events',
};

/** The topic of a type. */
export function topicOf(type: EventType): Topic {
  const topic = TOPIC_OF[type.split('.')[1] ?? ''];
  if (topic === undefined) throw new Error(`The type ${type} has no topic.`);
  return topic;
}
