/** Rows of executions, read for the actors of their nodes. */
import type { ExecutionEffect } from '../../actors/node/effects.ts';
import type { Loader } from '../ports.ts';
import type { Performers } from '../runtime/domain-effects.ts';

/** Only nodes have executions: others ask in vain. */
export function executionEffects(loader: Pick<Loader, 'openExecutions' | 'findOpen'>): Performers<ExecutionEffect> {
  return {
    'load-open': async ({ limit, except }, actor) => {
      const { self } = actor;
      if (self.kind !== 'node') return;
      const loaded = await actor.untilLoaded(() => loader.openExecutions(self.id, limit, except));
      if (loaded !== null) actor.tell({ type: 'executions-loaded', executions: loaded.executions, more: loaded.more });
    },
    'look-up': async ({ executions: asked, retry }, actor) => {
      const { self } = actor;
      if (self.kind !== 'node') return;
      const executions = await actor.untilLoaded(() => loader.findOpen(self.id, asked));
      if (executions !== null) actor.tell({ type: 'executions-looked-up', asked, executions, retry });
    },
  };
}
