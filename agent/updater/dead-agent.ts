/**
 * An agent that hangs, as it has a process and says nothing, or that has none and is started by nothing, as its
 * supervisor ended: it is restarted, and its commands go on.
 */
import { takeLock } from './lock.ts';
import type { UpdaterParts } from './parts.ts';
import { reasonOf } from './problem.ts';
import type { AgentSilence } from './repair.ts';
import { markIfPossible, unmarkUpdating } from './updating-marker.ts';
import { linkedVersion } from './versions.ts';

const SAID = {
  hangs: 'The agent hangs: it is restarted',
  abandoned: 'The agent does not run, and nothing starts it any more: it is started',
};

/**
 * Restarts one that is dead and is neither damaged nor stopped, in the version that is current. Never rejects: what
 * keeps it from that is logged.
 */
export async function restartDead(parts: UpdaterParts, silence: AgentSilence): Promise<void> {
  const { layout, log, nowMs } = parts;
  try {
    if ((await silence.problem()) === null) return;
    const lock = takeLock(layout.lock, layout.lockHolder, nowMs());
    try {
      await restartDeadLocked(parts, silence);
    } finally {
      lock.release();
    }
  } catch (error) {
    log.error({ error: reasonOf(error) }, 'The agent that is dead could not be restarted');
  }
}

/** The same for who has the lock. */
export async function restartDeadLocked(parts: UpdaterParts, silence: AgentSilence): Promise<void> {
  const { layout, log, service } = parts;
  if (!(await silence.isDead(performance.now()))) return;
  const problem = await silence.problem();
  if (problem === null) return;
  try {
    const version = linkedVersion(layout, layout.current)?.version ?? '';
    log.warn({ version }, SAID[problem]);
    markIfPossible(parts, version, version);
    await service.restart();
  } catch (error) {
    log.error({ error: reasonOf(error) }, 'The agent that is dead could not be restarted');
  } finally {
    unmarkUpdating(parts);
    silence.reset(performance.now());
  }
}
