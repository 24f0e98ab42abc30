/** `forward`: what a call costs more at an admin that has to have it done by the owner. */
import { startBenchServer } from '../fleet/database.ts';
import { nodeId } from '../fleet/nodes.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import { cpuMs } from '../method/usage.ts';
import type { AdminProcess } from '../product/admin.ts';
import { profiled, startProduct, type Product } from '../product/contestant.ts';
import { startPeer } from '../product/peers.ts';
import { compare, verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 100;

/** Calls of each side, in turns, and calls before them that are thrown away: code is compiled by then. */
const REPEATS = 1_000;
const WARM_UPS = 300;

/** Target at the median, in s. Source: docs/performance.md. */
const FORWARDING_SECONDS_MAX = 0.0015;

/** One that costs a commit, and one for which the owner only reads. Both are done by the owner's actors or nobody's. */
const CALLS: Readonly<Record<string, (product: Product) => Promise<Call>>> = {
  write: async () => {
    let count = 0; // labels that are there already are not written again
    const body = (): object => ({ labels: { bench: String((count += 1)) } });
    return Promise.resolve({ method: 'PATCH', path: `/nodes/${nodeId(0)}/labels`, body });
  },
  read: async ({ admin }) => {
    const { id } = await admin.http.call<{ readonly id: string }>('POST', '/clusters/bench-0/enrollment_keys', {});
    return { method: 'PATCH', path: `/enrollment_keys/${id}`, body: () => ({}) }; // nothing is changed
  },
};

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: () => object;
}

/** Two admins of which the second owns nothing; the same call at each in turns, one at a time. */
export async function forward(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const postgres = await startBenchServer();
  let product: Product | undefined;
  let other: AdminProcess | undefined;
  try {
    product = await startProduct(postgres, nodes);
    other = await startPeer(product.place, 'bench-other', { ADMIN_MAX_WIREGUARD_PEERS: '1' }); // room for nothing
    const [owner, edge] = [product.admin, other];
    for (const [call, of] of Object.entries(CALLS)) {
      const asked = await of(product);
      const side = (name: string, at: AdminProcess): Side => ({
        name,
        run: async () => {
          const before = cpuMs(owner.pid) + cpuMs(edge.pid);
          const began = performance.now();
          await at.http.call(asked.method, asked.path, asked.body());
          const seconds = (performance.now() - began) / 1_000;
          return { seconds, readings: { cpu_ms: cpuMs(owner.pid) + cpuMs(edge.pid) - before } };
        },
      });
      const sides = [side('owner', owner), side('elsewhere', edge)];
      const result = await interleave(sides, options.repeats ?? REPEATS, WARM_UPS);
      const median = (name: string): number =>
        quantile(
          (result.samples.get(name) ?? []).map(({ seconds }) => seconds),
          0.5,
        );
      const cost = median('elsewhere') - median('owner');
      for (const finding of compare('forward', { call }, result, undefined, 'owner'))
        options.report.add(
          finding.side === 'owner'
            ? finding
            : {
                ...finding,
                costs_ms: cost * 1_000,
                verdict: verdict(result.calmBefore.quiet, cost <= FORWARDING_SECONDS_MAX),
              },
        );
      await profiled({ ...product, admin: edge }, options.profileDir, `forward-${call}`, async () => {
        for (let count = 0; count < WARM_UPS; count += 1) await edge.http.call(asked.method, asked.path, asked.body());
      });
    }
  } finally {
    await other?.stop();
    await product?.end();
    await postgres.stop();
  }
}
