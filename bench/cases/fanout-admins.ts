/**
 * `fanout --admins N`: one command to a fleet that is spread over several admins, beside the same fleet at one. One
 * side after the other: admins that were put to sleep meanwhile would lose their clusters.
 */
import { NODES_PER_CLUSTER } from '../fleet/nodes.ts';
import { startBenchServer, type BenchServer } from '../fleet/database.ts';
import { fanOut, type Contestant } from '../fleet/contestant.ts';
import { interleave, type Interleaved } from '../method/interleave.ts';
import { startSeveral, type SeveralAdmins } from '../product/several.ts';
import { compare } from './findings.ts';
import type { CaseOptions } from './options.ts';

const NODES = 10_000;
const REPEATS = 7;
const WARM_UPS = 2;

/** The command is asked of the first of them. */
export async function fanoutOverAdmins(options: CaseOptions, admins: number): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const postgres = await startBenchServer();
  try {
    const one = await measured(postgres, 'one', 1, nodes, options);
    const several = await measured(postgres, `over-${admins}`, admins, nodes, options);
    const samples = new Map([...one.samples, ...several.samples]);
    for (const finding of compare('fanout over admins', { nodes, admins }, { ...several, samples }, undefined, 'one'))
      options.report.add({ ...finding, owners: finding.side === 'one' ? 1 : several.owners });
  } finally {
    await postgres.stop();
  }
}

async function measured(
  postgres: BenchServer,
  name: string,
  count: number,
  nodes: number,
  { repeats = REPEATS }: CaseOptions,
): Promise<Interleaved & { readonly owners: number }> {
  const perCluster = Math.min(NODES_PER_CLUSTER, Math.ceil(nodes / (2 * count)));
  const several = await startSeveral(postgres, { name, count, nodes, perCluster });
  try {
    const side = contestantOf(several, postgres, name);
    const result = await interleave([{ name, run: () => fanOut(side, nodes) }], repeats, WARM_UPS);
    return { ...result, owners: new Set((await several.owners()).values()).size };
  } finally {
    await several.end();
  }
}

function contestantOf({ admins, agents, database }: SeveralAdmins, postgres: BenchServer, name: string): Contestant {
  const running = admins.flatMap(({ process }) => process ?? []);
  const [first, ...others] = running;
  if (first === undefined) throw new Error('no admin runs');
  return {
    name,
    serverPid: first.pid,
    otherPids: others.map(({ pid }) => pid),
    agents: {
      worker: agents,
      expect: (executions) => agents.ask('expect', executions),
      confirmed: () => agents.ask('confirmed'),
    },
    database,
    postgres,
    create: async () =>
      void (await first.http.call('POST', '/commands', { command_text: 'true', targeting: { type: 'all' } })),
    pause: () => {},
    resume: () => {},
    end: () => Promise.resolve(),
  };
}
