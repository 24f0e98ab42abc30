/** How a machine gives up being a node: `edge-agent leave`. */
import { rmSync } from 'node:fs';
import type { Log } from '../transport/net/log.ts';
import { pipesDirectory } from './access/ssh/sessions/pipes.ts';
import type { AgentConfig } from './config.ts';
import { openDataDirectory } from './data-directory.ts';
import { Ledger } from './execution/ledger/ledger.ts';
import { openExecutor } from './execution/open-executor.ts';
import { openJournal, removeJournal } from './execution/journal/open-journal.ts';
import { machineTimeline } from './execution/timeline.ts';
import { readIdentity } from './enrollment/identity.ts';
import { EXIT_STATUS, type ExitStatus } from './problem.ts';
import { leaveVpn } from './vpn/vpn.ts';

/**
 * Ends what runs and removes everything that this agent keeps. The node stays known to the admins until somebody
 * deletes it.
 */
export async function leave({ config, log }: { readonly config: AgentConfig; readonly log: Log }): Promise<ExitStatus> {
  const directory = openDataDirectory(config.AGENT_DATA_DIR);
  const node = readIdentity(directory.identity)?.node_id ?? null;
  const ledger = new Ledger(directory.ledger, log);
  const journal = openJournal(directory.journal, machineTimeline(), log, ledger);
  const executor = openExecutor({ config, directory, journal, node, log, onFinished: () => {} });
  executor.recover();
  await executor.close();
  journal.close();
  ledger.close();
  if (node !== null) await leaveVpn(directory, node, log);
  for (const path of [
    directory.identity,
    directory.apiPort,
    directory.shims,
    directory.sshHostKey,
    pipesDirectory(directory.sshHostKey),
    directory.sshRecordings,
    directory.sshUnanswered,
    directory.vpnKeys,
    directory.vpnPicture,
    directory.relayMap,
  ])
    rmSync(path, { recursive: true, force: true });
  removeJournal(directory);
  directory.release();
  log.info(
    { ...(node !== null && { node }) },
    node === null ? 'There was nothing to leave' : 'This machine has left; delete its node at the admin as well',
  );
  return EXIT_STATUS.ok;
}
