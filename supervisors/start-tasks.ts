/** What runs beside the actors: what other admins store is followed, self-updates are moved, and time does its part. */
import type { Unwind } from '../transport/net/unwind.ts';
import { watchElsewhere, type ElsewherePorts } from './elsewhere.ts';
import { SelfUpdates, type SelfUpdatesPorts } from './self-updates.ts';
import { startSweeper, type SweeperPorts } from './sweeper.ts';

/** What they share. */
export interface TaskBase
  extends Pick<ElsewherePorts, 'news' | 'clock' | 'log'>, Pick<SweeperPorts, 'bus' | 'directory' | 'leaseClockMs'> {
  readonly ownership: { takesTasks(): boolean };
  readonly ends: Pick<Unwind, 'add'>;
}

/** What each of them works on. */
export interface TaskWork {
  readonly elsewhere: Omit<ElsewherePorts, keyof TaskBase>;
  readonly selfUpdates: Omit<SelfUpdatesPorts, keyof TaskBase | 'takesTasks'>;
  readonly sweeps: Omit<SweeperPorts, keyof TaskBase | 'takesTasks'>;
}

/** Starts them; they end in the opposite order. Rejects with what the database says. */
export async function startTasks(base: TaskBase, work: TaskWork): Promise<void> {
  const { ends, ownership } = base;
  const takesTasks = (): boolean => ownership.takesTasks();
  ends.add('executions of other admins', watchElsewhere({ ...base, ...work.elsewhere }));
  const selfUpdates = new SelfUpdates({ ...base, takesTasks, ...work.selfUpdates });
  ends.add('self-updates', () => selfUpdates.stop());
  await selfUpdates.start();
  const sweeper = startSweeper({ ...base, takesTasks, ...work.sweeps });
  ends.add('sweeps', () => sweeper.stop());
}
