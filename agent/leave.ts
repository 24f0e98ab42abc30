/** How a machine gives up being a node: `edge-agent leave`. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../transport/net/log.ts';
import { pipesDirectory } from './access/ssh/sessions/pipes.ts';
import type { GivenConfig } from './config.ts';
import { openDataDirectory, type DataDirectory } from './data-directory.ts';
import { CODE_CACHE_DIRECTORY } from './default-directory.ts';
import { Ledger } from './execution/ledger/ledger.ts';
import { openExecutor } from './execution/open-executor.ts';
import { openJournal } from './execution/journal/open-journal.ts';
import { machineTimeline } from './execution/timeline.ts';
import { readIdentity, type Identity } from './enrollment/identity.ts';
import { knownUrls } from './enrollment/known-urls.ts';
import { removeNode } from './node-removal.ts';
import { createOutbound } from './outbound/outbound.ts';
import { AgentProblem, EXIT_STATUS, type ExitStatus } from './problem.ts';
import { removeFile, removeTree } from './removal.ts';
import { CLOSE_MS_MAX } from './stopping.ts';
import { leaveVpn } from './vpn/vpn.ts';

/** What leaving takes. */
export interface LeaveOptions {
  readonly config: GivenConfig;
  readonly log: Log;
  /** The admins are not told: their node stays, as of a machine that is away. */
  readonly isLocal: boolean;
}

/**
 * Removes the node at the admins, ends what runs, and removes everything that this agent keeps. Throws an
 * `AgentProblem` where no admin could be told, and nothing is touched then, and where something of it stays.
 */
export async function leave({ config, log, isLocal }: LeaveOptions): Promise<ExitStatus> {
  const directory = openDataDirectory(config.AGENT_DATA_DIR);
  try {
    const identity = readIdentity(directory.identity);
    const told = isLocal
      ? 'The node stays at the admin: `edge node rm` removes it there'
      : await tell(identity, config);
    const problems = await removeAll(directory, identity, config, log);
    if (problems.length > 0)
      throw new AgentProblem(
        `Not all of this agent could be removed: ${problems.join('; ')}. Remove that, or \`edge-agent leave\` once more when it can be. ${told}`,
        EXIT_STATUS.failed,
      );
    rmSync(directory.lock, { force: true }); // the last of it: whoever makes another one finds nothing of this agent
    log.info(
      { ...(identity !== null && { node: identity.node_id }) },
      identity === null ? 'There was nothing to leave' : `This machine has left. ${told}`,
    );
    return EXIT_STATUS.ok;
  } finally {
    directory.release();
  }
}

/** What an operator is to know of the node at the admins. */
async function tell(identity: Identity | null, config: GivenConfig): Promise<string> {
  if (identity?.enrollment == null) return 'No admin knew it';
  const { admin_urls: listed, api_token: token } = identity.enrollment;
  const known = config.ADMIN_URLS ?? knownUrls(listed, identity.reached_by);
  const removal = await removeNode(known, token, createOutbound(config));
  if (removal === 'removed') return 'Its node was removed at the admin';
  if (removal === 'unknown') return 'No admin knew its node any more';
  if (removal === 'older') return 'The admin is older: `edge node rm` removes the node there';
  throw new AgentProblem(
    `No admin could be told that this machine leaves, so nothing was removed: ${removal.problem}. Try again when one answers, or \`edge-agent leave --local\` leaves the node there and removes what is on this machine`,
    EXIT_STATUS.failed,
  );
}

/**
 * Why something of the agent's own stays, each as the end of a sentence. What scripts left beside themselves, of which
 * an agent may be unable to remove all, is only told.
 */
async function removeAll(
  directory: DataDirectory,
  identity: Identity | null,
  config: GivenConfig,
  log: Log,
): Promise<readonly string[]> {
  const node = identity?.node_id ?? null;
  const clusterName = identity?.enrollment?.cluster_name ?? null;
  const ledger = new Ledger(directory.ledger, log);
  const journal = openJournal(directory.journal, machineTimeline(), log, ledger);
  const executor = openExecutor({ config, directory, journal, node, log, onFinished: () => {} });
  executor.recover();
  // a full disk takes no ends, and what makes room are the files that go below
  await Promise.race([executor.close(), sleep(CLOSE_MS_MAX)]);
  executor.detach();
  journal.close();
  ledger.close();
  if (node !== null) await leaveVpn(directory, node, clusterName, log);
  const remains = removeTree(directory.shims);
  if (remains !== null)
    log.warn({ path: directory.shims, problem: remains }, 'This stays on the machine, as it cannot be removed');
  return [
    ...filesOf(directory).map(removeFile),
    ...[pipesDirectory(directory.sshHostKey), directory.sshRecordings, join(directory.path, CODE_CACHE_DIRECTORY)].map(
      removeTree,
    ),
  ].filter((problem) => problem !== null);
}

function filesOf(directory: DataDirectory): readonly string[] {
  return [
    directory.identity,
    directory.journal,
    directory.ledger,
    directory.apiPort,
    directory.sshHostKey,
    directory.sshUnanswered,
    directory.vpnKeys,
    directory.vpnNetworkMap,
    directory.relayMap,
    directory.updates,
    directory.health,
    directory.updating,
    directory.pin,
  ];
}
