/**
 * `peers`: the same job beside the tools that people use for it, all in one run. Theirs is not durable; ours and the
 * floor's is.
 */
import { asSide, fanOut, type Contestant } from '../fleet/contestant.ts';
import { startBenchServer } from '../fleet/database.ts';
import { freePort } from '../fleet/ports.ts';
import { startFloor } from '../floor/contestant.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { hasMeshCentral, startMeshCentralFleet, type MeshCentralFleet } from '../peers/meshcentral.ts';
import { startNatsFleet } from '../peers/nats.ts';
import { findProgram, missingPackages, type Program } from '../peers/programs.ts';
import { startSshFleet } from '../peers/ssh-fleet.ts';
import { ansible, clushCold, clushWarm } from '../peers/ssh-tools.ts';
import { startProduct } from '../product/contestant.ts';
import { compare } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** Hosts that run a real process, and nodes that only answer. */
const HOSTS = 200;
const NODES = 10_000;
const REPEATS = 3;

/**
 * First real processes on 200 hosts, then answers of many nodes (`--nodes`). Peers that are not installed are named and
 * left out.
 */
export async function peers(options: CaseOptions): Promise<void> {
  const missing = await missingPackages(options.install, ['clush', 'ansible', 'sshd', 'ssh', 'nats-server']);
  if (missing.length > 0)
    options.report.note(`not installed, so not measured: ${missing.join(' ')} (--install installs them with apt)`);
  await processes(options);
  await answers(options);
}

async function processes(options: CaseOptions): Promise<void> {
  const [clush, sshd, ssh, ansibleProgram] = await found('clush', 'sshd', 'ssh', 'ansible');
  const hasSsh = sshd !== undefined && ssh !== undefined && process.getuid?.() === 0;
  if (!hasSsh) options.report.note('ssh peers need root, ssh and sshd: they are left out');
  const fleet = hasSsh ? await startSshFleet(sshd, await freePort(), HOSTS) : undefined;
  try {
    const others: Side[] = [];
    if (fleet && clush !== undefined) others.push(clushWarm(clush, fleet, HOSTS), clushCold(clush, fleet, HOSTS));
    if (fleet && ansibleProgram !== undefined) others.push(await ansible(ansibleProgram, fleet));
    await contest(options, 'peers-true', HOSTS, 'real', others);
  } finally {
    await fleet?.end();
  }
}

async function answers(options: CaseOptions): Promise<void> {
  const nodes = options.nodes[0] ?? NODES;
  const [program] = await found('nats-server');
  const nats = program === undefined ? undefined : await startNatsFleet(program, await freePort(), nodes);
  let meshcentral: MeshCentralFleet | undefined;
  try {
    if (await hasMeshCentral(options.install)) meshcentral = await startMeshCentralFleet(await freePort(), nodes);
    else options.report.note('not installed, so not measured: MeshCentral (--install installs it below .data/bench)');
    await contest(options, 'peers-answer', nodes, 'simulated', [
      ...(nats ? [nats.side] : []),
      ...(meshcentral ? [meshcentral.side] : []),
    ]);
  } finally {
    await meshcentral?.end();
    await nats?.end();
  }
}

async function contest(
  options: CaseOptions,
  name: string,
  nodes: number,
  agents: 'real' | 'simulated',
  others: readonly Side[],
): Promise<void> {
  const postgres = await startBenchServer();
  const contestants: Contestant[] = [];
  try {
    contestants.push(await startFloor(postgres, nodes, agents));
    if (!options.floorOnly) contestants.push(await startProduct(postgres, nodes, { agents }));
    for (const side of contestants) side.pause();
    const sides = contestants.map((side) => asSide(side, () => fanOut(side, nodes, agents === 'real' ? 0 : 200), true));
    const result = await interleave([...sides, ...others], options.repeats ?? REPEATS);
    for (const finding of compare(name, { nodes }, result)) options.report.add(finding);
  } finally {
    for (const side of contestants) await side.end();
    await postgres.stop();
  }
}

async function found(...programs: readonly Program[]): Promise<(string | undefined)[]> {
  return Promise.all(programs.map((program) => findProgram(program)));
}
