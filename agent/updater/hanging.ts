/** An agent that hangs, as it has a process and says nothing: it is restarted, and its commands go on. */
import { takeLock } from './lock.ts';
import type { UpdaterParts } from './parts.ts';
import { reasonOf } from './problem.ts';
import type { AgentSilence } from './repair.ts';
import { markIfPossible, unmarkUpdating } from './updating-marker.ts';
import { linkedVersion } from './versions.ts';

/** Restarts it, if it hangs, in the version that is current. Never rejects: what keeps it from that is logged. */
export async function helpHanging(parts: UpdaterParts, silence: AgentSilence): Promise<void> {
  const { layout, log, nowMs } = parts;
  if (!silence.isHanging) return;
  try {
    const lock = takeLock(layout.lock, layout.lockHolder, nowMs());
    try {
      await helpHangingLocked(parts, silence);
    } finally {
      lock.release();
    }
  } catch (error) {
    log.error({ error: reasonOf(error) }, 'The agent that hangs could not be restarted');
  }
}

/** The same for who has the lock. */
export async function helpHangingLocked(parts: UpdaterParts, silence: AgentSilence): Promise<void> {
  const { layout, log, service } = parts;
  if (!(await silence.isDead(performance.now())) || !silence.isHanging) return;
  try {
    const version = linkedVersion(layout, layout.current)?.version ?? '';
    log.warn({ version }, 'The agent hangs: it is restarted');
    markIfPossible(parts, version, version);
    await service.restart();
  } catch (error) {
    log.error({ error: reasonOf(error) }, 'The agent that hangs could not be restarted');
  } finally {
    unmarkUpdating(parts);
    silence.reset(performance.now());
  }
}
