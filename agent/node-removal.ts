/** Takes this machine's node away at the admins, with the token of the node. */
import { OWN_NODE_PATH } from '../transport/protocol/version.ts';
import { deleteAt } from './outbound/http-exchange.ts';
import type { Outbound } from './outbound/outbound.ts';

/**
 * What came of it. `unknown`: no admin knows the node, so there is nothing to take away. `older`: the admin cannot be
 * asked for it. A problem: the node may still be there, as the end of a sentence.
 */
export type NodeRemoval = 'removed' | 'unknown' | 'older' | { readonly problem: string };

/** An admin of before protocol 6. */
const OLDER: ReadonlySet<number> = new Set([404, 405]);

/** Asks the admins in order until one has done it; what the others say counts only where none has. Never rejects. */
export async function removeNode(
  adminUrls: readonly string[],
  token: string,
  outbound: Outbound,
): Promise<NodeRemoval> {
  let answered: 'unknown' | 'older' | null = null;
  let problem = 'no admin is known';
  for (const adminUrl of adminUrls) {
    const url = ownNodeUrl(adminUrl);
    try {
      const headers = { authorization: `Bearer ${token}` };
      const { status } = await deleteAt(url, { headers, agent: outbound.agentFor(url) });
      if (status === 204) return 'removed';
      if (status === 401) answered = 'unknown';
      else if (OLDER.has(status)) answered ??= 'older';
      else problem = `${adminUrl} answered ${status}`;
    } catch (error) {
      problem = `${adminUrl}: ${(error as Error).message}`;
    }
  }
  return answered ?? { problem };
}

function ownNodeUrl(adminUrl: string): string {
  const url = new URL(adminUrl);
  url.pathname = url.pathname.replace(/\/+$/u, '') + OWN_NODE_PATH;
  return url.href;
}
