/** The effects of each domain, made of its port: what comes of one later comes back as a message. */
import type { WebhookEffect } from '../actors/webhook/effects.ts';
import type { Loader, WebhookSender, WebhookSupply, SshVerifier, GatewayLink, VpnWatch } from './ports.ts';
import type { Performers } from './runtime/domain-effects.ts';
import type { ExecutionEffect } from '../actors/node/effects.ts';
import type { SelfUpdateEffect } from '../actors/self-update/effects.ts';
import type { SshEffect } from '../actors/ssh/effects.ts';
import type { VpnEffect } from '../actors/vpn/effects.ts';

/** What the effects of domains reach. */
export interface DomainPorts {
  readonly loader: Loader;
  readonly webhookSender: WebhookSender;
  readonly webhookSupply: WebhookSupply;
  readonly ssh: SshVerifier;
  readonly vpns: VpnWatch;
  readonly gateway: GatewayLink;
  /** Owners look which of their nodes have their turn in this self-update request. */
  readonly wakeSelfUpdate: (request: string) => void;
}

/** A performer for each effect of a domain. Exhaustive: a new effect does not compile until it has one here. */
export function domainPerformers(ports: DomainPorts): Performers {
  const { loader, webhookSender, webhookSupply, ssh, vpns, gateway } = ports;
  return {
    ...executionEffects(loader),
    ...webhookEffects(webhookSupply, webhookSender),
    ...sshEffects(ssh),
    ...vpnEffects(vpns, gateway),
    ...selfUpdateEffects(ports),
  };
}

/** Performs them for the webhook that asks. */
function webhookEffects(supply: WebhookSupply, webhookSender: WebhookSender): Performers<WebhookEffect> {
  return {
    'load-deliveries': async ({ load, ...asked }, actor) => {
      const loaded = await actor.untilLoaded(() => supply.next(actor.self.id, asked));
      if (loaded !== null)
        actor.report({ type: 'deliveries-loaded', load, deliveries: loaded.deliveries, more: loaded.more });
    },
    'delivery-stored': ({ cursor }, { self }) => supply.stored(self.id, cursor),
    'send-delivery': async ({ webhook, delivery }, actor) => {
      const attempt = await webhookSender.send(webhook, delivery);
      actor.report({ type: 'delivery-attempted', delivery: delivery.id, attempt, random: Math.random() });
    },
    'abort-deliveries': (_effect, { self }) => {
      webhookSender.cut(self.id);
      supply.ended(self.id);
    },
  };
}

/** Only nodes have executions: others ask in vain. */
function executionEffects(loader: Pick<Loader, 'openExecutions' | 'findOpen'>): Performers<ExecutionEffect> {
  return {
    'load-open': async ({ limit, except }, actor) => {
      const { self } = actor;
      if (self.kind !== 'node') return;
      const loaded = await actor.untilLoaded(() => loader.openExecutions(self.id, limit, except));
      // Not to its successor, which could take it for the answer to a reading of its own, and run again what is over
      // (C3).
      if (loaded !== null)
        actor.report({ type: 'executions-loaded', executions: loaded.executions, more: loaded.more });
    },
    'look-up': async ({ executions: asked, retry }, actor) => {
      const { self } = actor;
      if (self.kind !== 'node') return;
      const found = await actor.untilLoaded(() => loader.findOpen(self.id, asked));
      // Its successor decides itself what it has to look up: this may be older than its own rows.
      if (found !== null) actor.tell(actor.isOver ? retry : { type: 'executions-looked-up', asked, ...found, retry });
    },
  };
}

/** Only nodes are logged in to: others ask in vain. */
function sshEffects(ssh: SshVerifier): Performers<SshEffect> {
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

/** Only clusters have a VPN: others ask in vain. */
function vpnEffects(vpns: VpnWatch, gateway: GatewayLink): Performers<VpnEffect> {
  return {
    'read-vpn': (_effect, { self }) => (self.kind === 'cluster' ? vpns.readNow(self.id) : undefined),
    gateway: ({ vpn }) => gateway.become(vpn),
  };
}

/** Only self-update requests count nodes: others ask in vain. */
function selfUpdateEffects({
  loader,
  wakeSelfUpdate,
}: Pick<DomainPorts, 'loader' | 'wakeSelfUpdate'>): Performers<SelfUpdateEffect> {
  return {
    'count-self-update': async (_effect, actor) => {
      const { self } = actor;
      if (self.kind !== 'self-update') return;
      const read = await actor.untilLoaded(async () => ({ counted: await loader.countSelfUpdate(self.id) }));
      actor.report(read === null ? { type: 'count-failed' } : { type: 'nodes-counted', counted: read.counted });
    },
    'wake-self-update': (_effect, { self }) => wakeSelfUpdate(self.id),
  };
}
