/** SSH logins, checked against the rows for the nodes that they reach. */
import type { SshEffect } from '../../actors/ssh/effects.ts';
import type { SshVerifier } from '../ports.ts';
import type { Performers } from '../runtime/domain-effects.ts';

/** Only nodes are logged in to: others ask in vain. */
export function sshEffects(ssh: SshVerifier): Performers<SshEffect> {
  return {
    'verify-ssh': async ({ session, attempt, username, credential }, actor) => {
      if (actor.self.kind !== 'node') return;
      const outcome = await ssh.verify(actor.self.id, username, credential);
      actor.report({ type: 'ssh-verified', session, attempt, outcome });
    },
    'limit-ssh': () => ssh.limited(),
    'check-ssh-grants': async ({ session, grants }, actor) => {
      const { self } = actor;
      if (self.kind !== 'node') return;
      const gone = await actor.untilLoaded(() => ssh.gone(self.id, grants));
      if (gone !== null) actor.report({ type: 'ssh-grants-checked', session, ...gone });
    },
  };
}
