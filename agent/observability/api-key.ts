/** The bearer key of the agent's API on this machine, for what scrapes it from nearby. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { agentApiKey } from '../../transport/protocol/agent-api.ts';
import { IDENTITY_FILE } from '../data-directory.ts';
import { readIdentity } from '../enrollment/identity.ts';
import { AgentProblem, EXIT_STATUS } from '../problem.ts';

/** The key of an agent whose node has this API token. */
export function apiKeyOf(token: string): string {
  return agentApiKey(createHash('sha256').update(token).digest());
}

/**
 * The key of the agent of this data directory, running or not. Throws an `AgentProblem` when it is not enrolled, or
 * when the directory is not this user's to read.
 */
export function storedApiKey(directory: string): string {
  const token = readIdentity(join(directory, IDENTITY_FILE))?.enrollment?.api_token;
  if (token === undefined)
    throw new AgentProblem(
      `The machine of AGENT_DATA_DIR ${directory} is not enrolled, so there is no key yet: start \`edge-agent up\` with an ENROLLMENT_KEY first`,
      EXIT_STATUS.failed,
    );
  return apiKeyOf(token);
}
