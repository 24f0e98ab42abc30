/** Several admins of the demo, and the balancer before them. */
import { Balancer } from './balancer.ts';
import { adminSettings, healthy } from './fleet.ts';
import type { DemoHome } from './home.ts';
import { freePorts, type DemoPorts } from './ports.ts';
import { startProgram } from './processes.ts';
import type { Running } from './running.ts';

/**
 * An admin that owns nothing after a start on the rows of before gets its share after this, in ms: soon enough to be
 * seen.
 */
export const BALANCE_AFTER_MS = 10_000;

/** An admin of the demo: its name, its process, and where it is reached beside the balancer. */
export interface DemoAdmin {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  /** How it ended, whoever ended it. */
  readonly ended: Promise<string>;
}

/** Starts them at once, and the balancer before them. Resolves when each of them is well. */
export async function startAdmins(
  home: DemoHome,
  count: number,
  fronts: DemoPorts,
  running: Running,
): Promise<readonly DemoAdmin[]> {
  const free = await freePorts(count * 3);
  const places = Array.from({ length: count }, (_none, place) => ({
    name: `admin-${place + 1}`,
    ports: { api: free[3 * place] ?? 0, http: free[3 * place + 1] ?? 0, socks5: free[3 * place + 2] ?? 0 },
  }));
  const urlAt = (port: number): string => `http://127.0.0.1:${port}`;
  const balancer = await Balancer.open(
    [fronts.api, fronts.http, fronts.socks5],
    places.map(({ ports }) => ({
      checkUrl: `${urlAt(ports.api)}/readyz`,
      ports: [ports.api, ports.http, ports.socks5],
    })),
  );
  running.addEnd(() => balancer.close());
  const programs = places.map(({ name, ports }) => {
    const program = startProgram(
      name,
      'edge-admin.ts',
      ['serve'],
      {
        ...adminSettings(home, ports),
        ADMIN_NAME: name,
        ADMIN_URLS: [fronts.api, ...places.map(({ ports: { api } }) => api)].map(urlAt).join(','),
        ADMIN_OWN_URL: urlAt(ports.api),
        ADMIN_BALANCE_AFTER_MS: String(BALANCE_AFTER_MS),
      },
      home.path(`${name}.log`),
    );
    running.addAdmin(program);
    return { program, url: urlAt(ports.api) };
  });
  await Promise.race([
    Promise.all(programs.map(({ url }) => healthy(url))),
    ...programs.map(({ program }) => program.failed),
  ]);
  return programs.map(({ program: { name, pid, ended }, url }) => ({ name, pid, ended, url }));
}

/** The nodes of these clusters. */
export function targetingOf(clusters: readonly string[]) {
  return { type: 'clusters' as const, cluster_names: [...clusters] };
}
