/** A webhook that lives as long as the receiver. */
import type { Api } from '../service/client.ts';
import type { EventType } from '../names/event-types.ts';
import { isNotFound, Problem, problemOf, reasonOf, type AskedService } from '../problem.ts';
import { Patience } from '../service/patience.ts';

/**
 * The deletion of a webhook is tried for so long, in ms: twice the time within which every cluster has an owner after a
 * kill (O2). It would send to nobody for good.
 */
const DELETED_MS_MAX = 10_000;

/** What is created, and where. */
export interface Wanted {
  readonly url: string;
  readonly secret: string;
  readonly types: readonly EventType[];
  /** The service, for what is told. */
  readonly service: AskedService;
  /** Told that the webhook cannot be deleted now, and that this is tried again. */
  readonly say: (line: string) => void;
  readonly deletedMsMax?: number;
}

/** A webhook that was created for a while. */
export interface Subscription {
  readonly id: string;
  /** Deletes it, as soon as the service can. Rejects with a Problem that names it when that is not possible in time. */
  end(): Promise<void>;
}

/** Creates the webhook. */
export async function subscribe(
  api: Api,
  { url, secret, types, service, say, deletedMsMax = DELETED_MS_MAX }: Wanted,
): Promise<Subscription> {
  const { id } = await api.create_webhook
    .mutate({ url, secret, subscribed_events: [...types] })
    .catch((error: unknown) => {
      throw addressProblem(error, service);
    });
  return {
    id,
    async end() {
      const signal = AbortSignal.timeout(deletedMsMax);
      const patience = new Patience({
        signal,
        failing: (error) => say(`webhook ${id} cannot be deleted now (${reasonOf(error)}); trying again`),
      });
      try {
        await patience.ask(() => api.delete_webhook.mutate({ id }, { signal }));
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
