/** Who is logged in to nodes by SSH, as their agents tell it through their tunnels. Nothing of it is kept here. */
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import type { NodeSshSessions } from '../../api/node-ports.ts';
import { carriedAddress, plainAddress } from '../net/addresses.ts';
import { rangesOf } from '../net/endpoints.ts';
import { AGENT_SSH_SESSIONS_PATH } from '../protocol/agent-api.ts';
import { plainText } from '../protocol/diagnosis.ts';
import type { NodeId } from '../protocol/ids.ts';
import { SSH_SESSIONS_BYTES_MAX, SshSessions } from '../protocol/ssh-sessions.ts';
import { askAgent, parsedJson } from '../tunnels/agent-json.ts';
import type { AgentRequests } from '../tunnels/agent-requests.ts';

/** What it needs. */
export interface SshSessionPorts {
  readonly requests: Pick<AgentRequests, 'get'>;
  /** Ranges of the VPN of a node's cluster, as CIDR; null: there is no such node. Rejects with DatabaseUnavailable. */
  readonly ranges: (node: NodeId) => Promise<readonly string[] | null>;
  /** METRICS_SCRAPE_TIMEOUT_MS. */
  readonly msMax: number;
}

/** Asks agents. */
export function createSshSessions({ requests, ranges, msMax }: SshSessionPorts): NodeSshSessions {
  return {
    async get(node) {
      const hidden = await ranges(node);
      if (hidden === null) return refuse('not_found', 'Resource not found');
      return askAgent(requests, node, {
        path: AGENT_SSH_SESSIONS_PATH,
        bytesMax: SSH_SESSIONS_BYTES_MAX,
        msMax,
        tooOld: 'The agent of this node is too old to tell who is logged in: update it.',
        read: (body) => readSshSessions(body, hidden),
      });
    },
  };
}

/**
 * Reads the body of an answer, which may be anything: without control characters, and without addresses in `ranges`,
 * those of the VPN (R3).
 */
export function readSshSessions(body: Uint8Array, ranges: readonly string[]): Result<SshSessions> {
  const parsed = SshSessions.safeParse(parsedJson(body));
  if (!parsed.success)
    return refuse('service_unavailable', 'The node answered with something that does not say who is logged in.');
  const hidden = rangesOf(ranges);
  const isHidden = (address: string): boolean => hidden.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
  const shown = (address: string | null): string | null => {
    if (address === null) return null;
    const plain = plainAddress(address);
    return isHidden(plain) || isHidden(carriedAddress(plain) ?? plain) ? null : plain;
  };
  const { session_count, sessions } = parsed.data;
  return ok({
    session_count,
    sessions: sessions.map((session) => ({
      ...session,
      username: plainText(session.username),
      account: plainText(session.account),
      client_address: shown(session.client_address),
    })),
  });
}
