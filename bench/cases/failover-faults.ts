/** What `failover` has happen to one of several admins, and how that is undone. */
import { setTimeout as delay } from 'node:timers/promises';
import { startAdmin } from '../product/admin.ts';
import type { NamedAdmin, SeveralAdmins } from '../product/several.ts';

/** What happens to one of the admins. `isOrderly`: then no call may fail. */
export interface Fault {
  readonly isOrderly: boolean;
  /** Resolves when it was done, and the clusters are where they belong then. */
  happen(several: SeveralAdmins, victim: NamedAdmin, seconds: number): Promise<void>;
  /** As before it. */
  undo(several: SeveralAdmins, victim: NamedAdmin): Promise<void>;
}

const without =
  ({ name }: NamedAdmin) =>
  (owners: ReadonlyMap<string, string>): boolean =>
    ![...owners.values()].includes(name);

async function again(several: SeveralAdmins, victim: NamedAdmin): Promise<void> {
  victim.process = await startAdmin(victim.place);
  await several.balanced();
}

/** All faults, by the names under which they are asked for. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  kill: {
    isOrderly: false,
    async happen(several, victim) {
      victim.process?.signal('SIGKILL');
      await several.owned(without(victim));
      await victim.process?.kill();
      victim.process = null;
    },
    undo: again,
  },
  freeze: {
    isOrderly: false,
    async happen(several, victim, seconds) {
      const untilMs = performance.now() + seconds * 1_000;
      victim.process?.signal('SIGSTOP');
      await several.owned(without(victim));
      await several.allLive();
      await delay(Math.max(0, untilMs - performance.now()));
    },
    async undo(several, victim) {
      victim.process?.signal('SIGCONT');
      await several.balanced();
    },
  },
  term: {
    isOrderly: true,
    async happen(several, victim) {
      const stopped = victim.process?.stop();
      await several.owned(without(victim));
      await stopped;
      victim.process = null;
    },
    undo: again,
  },
  drain: {
    isOrderly: true,
    async happen(several, victim) {
      await victim.process?.http.call('POST', `/admins/${victim.name}/drain`);
      await several.owned(without(victim));
    },
    async undo(several, victim) {
      await victim.process?.http.call('POST', `/admins/${victim.name}/resume`);
      await several.balanced();
    },
  },
  join: {
    isOrderly: true,
    async happen(several, joiner) {
      joiner.process = await startAdmin(joiner.place);
      await several.balanced();
    },
    async undo(several, joiner) {
      await joiner.process?.stop();
      joiner.process = null;
      await several.balanced();
    },
  },
};
