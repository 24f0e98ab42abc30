/** A whole admin that publishes to a broker, and ways to make it publish. */
import type { Envelope } from '../../../actors/events.ts';
import type { CommandResource, ExecutionResource } from '../../../actors/resources/command.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import { ADMIN_KEYS, startTestAdmin, type TestAdmin } from '../admin.ts';
import { enrollRaw } from '../fleet/raw-agent.ts';
import { restClient, settledAnswer, type Rest } from '../fleet/rest.ts';
import type { Scope } from '../scope.ts';

/** Types of what `command` makes happen, in this order. */
export const COMMAND_EVENT_TYPES = [
  'edge.command_execution.created',
  'edge.command_execution.sent',
  'edge.command_execution.completed',
] as const;

/** A running admin. */
export interface PublishingAdmin extends TestAdmin {
  readonly rest: Rest;
  /** Stores so many test events, one after another, and answers their envelopes. */
  testEvents(count: number): Promise<readonly Envelope[]>;
  /** Runs a command at a node that joins for it, and answers its execution once it is completed. */
  command(): Promise<ExecutionResource>;
  /** What health says is wrong with the broker; null: nothing. */
  brokerProblem(): Promise<string | null>;
}

/** Starts an admin with this broker; it ends with the scope. */
export async function startPublishingAdmin(
  scope: Scope,
  adapter: string,
  env: Readonly<Record<string, string>>,
): Promise<PublishingAdmin> {
  const admin = await startTestAdmin(scope, { EVENT_BROKER_ENABLED: 'true', EVENT_BROKER_ADAPTER: adapter, ...env });
  const rest = restClient(() => admin.url, ADMIN_KEYS.MASTER_KEY);
  return {
    ...admin,
    rest,
    async testEvents(count) {
      const stored: Envelope[] = [];
      while (stored.length < count) stored.push(await rest.post<Envelope>('/events/test', {}));
      return stored;
    },
    async command() {
      await settledAnswer(() => rest.call('POST', '/clusters', { body: { name: 'brokers' } })); // it may be there already
      const node = await enrollRaw(scope, {
        rest,
        key: () => rest.post<EnrollmentKeyResource>('/clusters/brokers/enrollment_keys', {}),
        admins: [{ url: admin.url }],
      });
      const session = await node.connect();
      const command = await rest.post<CommandResource>('/commands', {
        command_text: 'true',
        targeting: { type: 'nodes', node_ids: [node.node_id] },
      });
      const {
        deliveries: [delivery],
      } = await session.frame('deliver');
      if (delivery === undefined) throw new Error('nothing was delivered');
      session.send({ type: 'acknowledge', executions: [delivery.execution] });
      session.send({
        type: 'result',
        results: [
          {
            execution: delivery.execution,
            outcome: 'completed',
            exit_code: 0,
            output: '',
            parts: 0,
            output_truncated: false,
          },
        ],
      });
      await session.frame('confirm');
      const [execution] = await rest.get<readonly ExecutionResource[]>(
        `/command_executions?command_id__in=${command.id}`,
      );
      if (execution === undefined) throw new Error('the execution is gone');
      return execution;
    },
    async brokerProblem() {
      const checks = (await (await fetch(`${admin.url}/healthz`)).json()) as readonly {
        readonly name: string;
        readonly error: string | null;
      }[];
      const check = checks.find(({ name }) => name === 'event_broker');
      if (check === undefined) throw new Error('health says nothing of the broker');
      return check.error;
    },
  };
}
