/** A webhook that lives as long as the receiver. */
import type { Api } from '../client.ts';
import type { EventType } from '../event-types.ts';
import { tell } from '../output.ts';
import { Problem, problemOf } from '../problem.ts';

/** What is created, and where. */
export interface Wanted {
  readonly url: string;
  readonly secret: string;
  readonly types: readonly EventType[];
  /** URL of the service, for what is told. */
  readonly serviceUrl: string;
}

/** Creates the webhook. Answers what deletes it again; that rejects with a Problem that names it when it cannot. */
export async function subscribe(api: Api, { url, secret, types, serviceUrl }: Wanted): Promise<() => Promise<void>> {
  const { id } = await api.create_webhook.mutate({ url, secret, subscribed_events: [...types] }).catch((error: unknown) => { throw addressProblem(error, serviceUrl); });
  tell(`webhook ${id} brings ${types.length === 1 ? types[0] : `${types.length} types of events`} here until then`);
  return async () => {
    try {
      await api.delete_webhook.mutate({ id });
    } catch (error) {
      if (isNotFound(error)) return; // somebody removed it meanwhile
      throw new Problem(`webhook ${id} is still there (${problemOf(error, serviceUrl).message}): edge webhook rm ${id}`);
    }
  };
}

/** The address of a receiver is private as a rule: says how it is allowed. Other errors stay what they are. */
export function addressProblem(error: unknown, serviceUrl: string): unknown {
  const { url: sentences } = (error as { readonly data?: { readonly details?: { readonly url?: readonly string[] } | null } | null }).data?.details ?? {};
  if (!sentences?.some((sentence) => /private|reserved/u.test(sentence))) return error;
  const { message, status } = problemOf(error, serviceUrl);
  return new Problem(`${message.replace(/\.$/u, '')}; an edge-admin that is started with WEBHOOK_ALLOW_PRIVATE_IPS=true sends there`, status);
}

function isNotFound(error: unknown): boolean {
  return (error as { readonly data?: { readonly code?: unknown } | null }).data?.code === 'not_found';
}
