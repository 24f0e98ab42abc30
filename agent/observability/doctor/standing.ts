/** What admins say of this machine's node where no agent of it runs: asked as an agent would, and hung up at once. */
import { NODE_DELETED } from '../../../transport/protocol/version.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import { webSocketDial } from '../../session/dial.ts';
import type { Refused } from '../../session/refusals.ts';

/** A node, as admins know it by its token: `known`, or what they say while they refuse it. Null: none of them said. */
export type NodeStanding = 'known' | Refused | null;

/** What to ask with. */
export interface StandingQuestion {
  readonly adminUrls: readonly string[];
  readonly token: string;
  readonly outbound: Outbound;
}

/** Asks all at once. That one knows the node counts more than that another does not. Never rejects. */
export async function askStanding(
  { adminUrls, token, outbound }: StandingQuestion,
  signal: AbortSignal,
): Promise<NodeStanding> {
  const said = await Promise.all(adminUrls.map((url) => ask(url, token, outbound, signal)));
  const byWeight = ['known', 'deleted', 'unknown'] as const;
  return byWeight.find((standing) => said.includes(standing)) ?? null;
}

/** Without a hello, which is what takes the session of an agent that runs. */
function ask(url: string, token: string, outbound: Outbound, signal: AbortSignal): Promise<NodeStanding> {
  const { promise, resolve } = Promise.withResolvers<NodeStanding>();
  const link = webSocketDial({}, outbound)(url, token, {
    opened(open) {
      resolve('known');
      open.terminate();
    },
    message() {},
    closed: (_link, code, reason) => resolve(code === 401 ? (reason === NODE_DELETED ? 'deleted' : 'unknown') : null),
  });
  signal.addEventListener('abort', () => {
    resolve(null);
    link.terminate();
  });
  return promise;
}
