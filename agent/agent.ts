/** The resident program: the data directory, the journal, and an enrolment after the other. */
import { withFreePorts } from './free-ports.ts';
import { createOutbound } from './outbound/outbound.ts';
import { openDataDirectory } from './data-directory.ts';
import { EnrolledAgent } from './enrolled-agent.ts';
import { Ledger } from './execution/ledger/ledger.ts';
import { openJournal } from './execution/journal/open-journal.ts';
import { readIdentity } from './enrollment/identity.ts';
import { machineTimeline } from './execution/timeline.ts';
import { EXIT_STATUS, type ExitStatus } from './problem.ts';
import { CLOCK } from './session/clock.ts';
import { SharedIdentity } from './session/shared-identity.ts';
import { enrolledIdentity, type ProgramOptions } from './enrollment/joining.ts';

/**
 * Runs until `signal` or until this machine is the node no more. Resolves with the exit status; throws an
 * `AgentProblem` for what stops it at once.
 */
export async function runAgent(given: ProgramOptions): Promise<ExitStatus> {
  const outbound = createOutbound(given.config);
  const options = { ...given, ...(await withFreePorts(given.config, given.log)), outbound };
  const { config, log, signal } = options;
  const directory = openDataDirectory(config.AGENT_DATA_DIR);
  try {
    const stored = config.AGENT_ID_TYPE === 'random' ? null : readIdentity(directory.identity);
    given.diskAnswered();
    let identity = await enrolledIdentity(options, directory, stored);
    const ledger = new Ledger(directory.ledger, log);
    const shared = new SharedIdentity(() => CLOCK.nowMs());
    const journal = openJournal(directory.journal, machineTimeline(), log, ledger);
    try {
      for (;;) {
        const end = await new EnrolledAgent({ ...options, directory, journal, identity, shared }).run();
        if (typeof end === 'number') return end;
        identity = end.rejoined;
      }
    } finally {
      journal.close();
      ledger.close();
    }
  } catch (error) {
    if (signal.aborted && (error as Error).name === 'AbortError') return EXIT_STATUS.ok;
    throw error;
  } finally {
    directory.release();
  }
}
