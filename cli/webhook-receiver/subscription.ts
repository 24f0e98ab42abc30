/** A webhook that lives as long as the receiver. */
import type { Api } from '../service/client.ts';
import type { EventType } from '../names/event-types.ts';
import { isNotFound, Problem, problemOf, type AskedService } from '../problem.ts';

/** What is created, and where. */
export interface Wanted {
  readonly url: string;
  readonly secret: string;
  readonly types: readonly EventType[];
  /** The service, for what is told. */
  readonly service: AskedService;
}

/** A webhook that was created for a while. */
export interface Subscription {
  readonly id: string;
  /** Deletes it. Rejects with a Problem that names it when that is not possible. */
  end(): Promise<void>;
}

/** Creates the webhook. */
export async function subscribe(api: Api, { url, secret, types, service }: Wanted): Promise<Subscription> {
  const { id } = await api.create_webhook
    .mutate({ url, secret, subscribed_events: [...types] })
    .catch((error: unknown) => {
      throw addressProblem(error, service);
    });
  return {
    id,
    async end() {
      try {
        await api.delete_webhook.mutate({ id });
      } catch (error) {
        if (isNotFound(error)) return; // somebody removed it meanwhile
        throw new Problem(
          `webhook ${id} could not be deleted: ${problemOf(error, service).message}; then: edge webhook rm ${id}`,
        );
      }
    },
  };
}

/**
 * Adds how private addresses are allowed where one was refused, as that of a receiver is as a rule. Other errors stay
 * what they are.
 */
export function addressProblem(error: unknown, service: AskedService): unknown {
  const { url: sentences } =
    (error as { readonly data?: { readonly details?: { readonly url?: readonly string[] } | null } | null }).data
      ?.details ?? {};
  if (!sentences?.some((sentence) => /private/u.test(sentence))) return error;
  const { message, status } = problemOf(error, service);
  return new Problem(
    `${message.replace(/\.$/u, '')}; edge-admin sends to private networks only with WEBHOOK_ALLOW_PRIVATE_IPS=true`,
    status,
  );
}
