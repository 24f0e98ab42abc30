/** `/console`: pages for people, who sign in with a key, and what those pages ask for. Off by CONSOLE_ENABLED=false. */
import type { Clock } from '../../actors/ports.ts';
import type { MountKit } from '../rest/server.ts';
import type { BesideTrpc } from '../trpc/mount.ts';
import { createIds } from '../creation-ids.ts';
import type { PeerCallHandler } from '../forwarding/ports.ts';
import { builtAssets, registerAssets, type Assets, type AssetsElsewhere } from './assets.ts';
import { CONSOLE_TERMINAL_PATH, createConnections, LIVE_PATH, type Sockets } from './connections.ts';
import type { ConsoleCounters } from './counters.ts';
import { PeerAssets, withConsoleAssets, type AssetPeers } from './elsewhere.ts';
import type { SessionRows } from './ports.ts';
import { registerSessions } from './routes.ts';
import { Sessions } from './sessions.ts';

/** The settings for it, under their names. */
export interface ConsoleSettings {
  readonly ADMIN_NAME: string;
  readonly CONSOLE_ENABLED: boolean;
  readonly CONSOLE_INSECURE_HTTP: boolean;
}

/** What the console is made of. */
export interface ConsoleKit {
  readonly rows: SessionRows;
  readonly newId: () => string;
  readonly clock: Clock;
  /** CONSOLE_INSECURE_HTTP. */
  readonly isPlainAllowed: boolean;
  readonly admin: { readonly name: string; readonly version: string };
  readonly terminals: Sockets;
  readonly counters: ConsoleCounters;
  /** Its files; null: it was not built here. */
  readonly assets: () => Promise<Assets | null>;
  /** Those of other builds. */
  readonly elsewhere: AssetsElsewhere;
}

/** The console of an admin. */
export interface Console {
  /** Undefined: it is switched off. */
  readonly beside: BesideTrpc | undefined;
  /** Has other admins get its files too. */
  withAssets(next: PeerCallHandler): PeerCallHandler;
}

/** The console of an admin, as the settings have it. */
export function openConsole(
  settings: ConsoleSettings,
  {
    rows,
    clock,
    terminals,
    counters,
    version,
    links,
  }: Pick<ConsoleKit, 'rows' | 'clock' | 'terminals' | 'counters'> & {
    readonly version: string;
    readonly links: AssetPeers;
  },
): Console {
  if (!settings.CONSOLE_ENABLED) return { beside: undefined, withAssets: (next) => withConsoleAssets(null, next) };
  const assets = builtAssets();
  const beside = consoleBeside({
    rows,
    newId: createIds(() => clock.nowMs()),
    clock,
    terminals,
    counters,
    isPlainAllowed: settings.CONSOLE_INSECURE_HTTP,
    admin: { name: settings.ADMIN_NAME, version },
    assets,
    elsewhere: new PeerAssets(links, { nowMs: () => performance.now() }),
  });
  return { beside, withAssets: (next) => withConsoleAssets(assets, next) };
}

/** Puts it on the server, beside tRPC, whose connections its pages use. */
export function consoleBeside({
  rows,
  newId,
  clock,
  terminals,
  counters,
  isPlainAllowed,
  admin,
  assets,
  elsewhere,
}: ConsoleKit): BesideTrpc {
  return ({ app, gate, log, onUpgrade }: MountKit, sockets) => {
    const sessions = new Sessions({ rows, gate, newId });
    const connections = createConnections({ sessions, gate, isPlainAllowed, clock, counters, log });
    registerSessions(app, { sessions, gate, isPlainAllowed, admin, counters, log });
    registerAssets(app, assets, elsewhere);
    onUpgrade(LIVE_PATH, connections.upgradesTo(sockets, { isFed: true }));
    onUpgrade(CONSOLE_TERMINAL_PATH, connections.upgradesTo(terminals, { isFed: false }));
    app.addHook('preClose', (done) => {
      connections.stop();
      done();
    });
  };
}
