/** What a test lets go wrong beneath a tree of actors: answers of the database that are lost or late, and bugs. */
import type { ActorKind } from '../../../actors/messages.ts';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import type { Write } from '../../../actors/writes.ts';
import type { Committer } from '../../../supervisors/ports.ts';
import type { Kind, KindTable } from '../../../supervisors/runtime/kinds.ts';

/** What becomes of a commit whose answer is lost. A promise: it is stored when that is resolved. */
export type Fate = 'stored' | 'not stored' | Promise<void>;

/** A committer that loses answers, or waits, when a test says so. */
export class FaultyCommitter {
  #lost: { readonly fate: Fate; readonly kind: Write['kind'] | null } | null = null;
  #held: PromiseWithResolvers<void> | null = null;

  /** Nobody is told what became of the next commit, or of the next with a write of this kind. */
  loseNext(fate: Fate, kind: Write['kind'] | null = null): void {
    this.#lost = { fate, kind };
  }

  /** Commits from now on wait for `release`. */
  hold(): void {
    this.#held = Promise.withResolvers();
  }

  release(): void {
    this.#held?.resolve();
    this.#held = null;
  }

  /** The real one with these faults, as an option of `startSupervisors`. */
  readonly over = (real: Committer): Committer => ({
    ready: () => real.ready(),
    caughtUp: () => real.caughtUp(),
    commit: async (...change) => {
      const [, changes] = change;
      await this.#held?.promise;
      const lost = this.#lost;
      if (lost === null || (lost.kind !== null && !changes.some(({ write }) => write.kind === lost.kind)))
        return real.commit(...change);
      this.#lost = null;
      if (lost.fate === 'stored') await real.commit(...change);
      if (lost.fate instanceof Promise) void lost.fate.then(() => real.commit(...change));
      throw new DatabaseUnavailable('the answer was lost');
    },
  });
}

/** All kinds of actors, with a bug wherever `throws` says so. What is thrown names a secret. */
export function withBugs(throws: (kind: ActorKind, type: string) => boolean): (table: KindTable) => KindTable {
  function wrap<S, M extends { readonly type: string }>(kind: ActorKind, real: Kind<S, M>): Kind<S, M> {
    return {
      ...real,
      behaviour: {
        ...real.behaviour,
        transition(state, message, nowMs) {
          if (throws(kind, message.type)) throw new TypeError('the secret of the message');
          return real.behaviour.transition(state, message, nowMs);
        },
      },
    };
  }
  return (table) => ({
    node: wrap('node', table.node),
    cluster: wrap('cluster', table.cluster),
    command: wrap('command', table.command),
    webhook: wrap('webhook', table.webhook),
    'self-update': wrap('self-update', table['self-update']),
  });
}
