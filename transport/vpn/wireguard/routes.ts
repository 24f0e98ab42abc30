/**
 * Routes to single addresses of an interface, each with an MTU of its own, and what the ways out of this machine take.
 * The kernel heeds what a route says of the path to an address, also where that is more than the interface's MTU: what
 * is lost of such routes, or was never set, costs speed and no packet.
 */
import { z } from 'zod';
import { ABSENT, goneLink, hasIpv6, jsonOf, type Reach } from './addresses.ts';
import { DeviceProblem } from './problem.ts';
import { ProgramFailure, run } from './programs.ts';

/**
 * By which the kernel tells these routes from all others, as they tell themselves apart by who made them. Nobody's
 * number. Source: /etc/iproute2/rt_protos.
 */
const PROTOCOL = '217';

const METRICS = z.array(z.object({ mtu: z.number().optional() })).default([]);

/** The parts of iproute2's answers that are used. */
const ROUTES = z.array(z.object({ dst: z.string(), metrics: METRICS }));
const WAYS = z.array(z.object({ dst: z.string(), dev: z.string(), metrics: METRICS }));
const LINKS = z.array(z.object({ ifname: z.string(), mtu: z.number() }));

/**
 * Packets to these addresses have the MTU that stands beside them; those to all others that of the interface. What
 * comes back are those that have that one, too: the system refused them, or led them elsewhere before (another
 * interface has their range, or somebody gave them a route).
 */
export async function setRouteMtus(
  name: string,
  mtus: ReadonlyMap<string, number>,
  reach: Reach,
): Promise<ReadonlySet<string>> {
  const there = await readRouteMtus(name, reach);
  const strange = [...mtus.keys()].filter((address) => !there.has(address));
  const ours = new Set((await readWays(strange, reach)).filter(({ dev }) => dev === name).map(({ dst }) => dst));
  const commands = [
    ...[...there.keys()].filter((address) => !mtus.has(address)).map((address) => `delete ${words(address)}`),
    ...[...mtus].flatMap(([address, mtu]) => {
      const known = there.get(address);
      if (known === undefined) return ours.has(address) ? [`add ${words(address)} mtu ${mtu}`] : [];
      return known === mtu ? [] : [`replace ${words(address)} mtu ${mtu}`];
    }),
  ];
  const elsewhere = new Set(strange.filter((address) => !ours.has(address)));
  if (commands.length === 0) return elsewhere;
  try {
    const lines = commands.map((command) => `route ${command}\n`);
    await run(reach.machine.ip, ['-force', '-batch', '-'], reach.limits, lines.join(''));
    return elsewhere;
  } catch (error) {
    if (!(error instanceof ProgramFailure) || error.status === null) throw error;
    // it went on behind what it could not do
    const now = await readRouteMtus(name, reach);
    return new Set([...mtus].filter(([address, mtu]) => now.get(address) !== mtu).map(([address]) => address));
  }

  function words(address: string): string {
    return `${address}/${address.includes(':') ? 128 : 32} dev ${name} proto ${PROTOCOL}`;
  }
}

/**
 * The longest packets that the ways of this machine to these addresses take, in bytes, as far as the machine knows;
 * without those to which it knows no way.
 */
export async function readRooms(addresses: readonly string[], reach: Reach): Promise<ReadonlyMap<string, number>> {
  const ways = await readWays(addresses, reach);
  if (ways.length === 0) return new Map();
  const { machine, limits } = reach;
  const links = LINKS.safeParse(jsonOf(await run(machine.ip, ['-json', 'link', 'show'], limits))).data ?? [];
  const mtuOfLink = new Map(links.map(({ ifname, mtu }) => [ifname, mtu]));
  return new Map(
    ways.flatMap(({ dst, dev, metrics }) => {
      const room = Math.min(mtuOf(metrics) ?? Infinity, mtuOfLink.get(dev) ?? Infinity);
      return room === Infinity ? [] : [[dst, room] as const];
    }),
  );
}

/** Those to which there is a way now. */
async function readWays(addresses: readonly string[], { machine, limits }: Reach): Promise<z.infer<typeof WAYS>> {
  if (addresses.length === 0) return [];
  const commands = [...new Set(addresses)].map((address) => `route get ${address}\n`);
  const output = await run(machine.ip, ['-json', '-force', '-batch', '-'], limits, commands.join('')).catch(
    (error: unknown) => {
      // to some of them there is none
      if (error instanceof ProgramFailure && error.status !== null) return error.output;
      throw error;
    },
  );
  return output.split('\n').flatMap((line) => WAYS.safeParse(jsonOf(line)).data ?? []);
}

async function readRouteMtus(name: string, { machine, limits }: Reach): Promise<ReadonlyMap<string, number>> {
  const mtus = new Map<string, number>();
  for (const family of hasIpv6(name) ? ['-4', '-6'] : ['-4']) {
    const output = await run(
      machine.ip,
      ['-json', family, 'route', 'show', 'dev', name, 'proto', PROTOCOL],
      limits,
    ).catch((error: unknown) => {
      throw error instanceof ProgramFailure && ABSENT.test(error.said) ? goneLink(name) : error;
    });
    const answer = output.trim() === '' ? { data: [] } : ROUTES.safeParse(jsonOf(output));
    if (answer.data === undefined)
      throw new DeviceProblem(`the program ${machine.ip} does not answer as that of iproute2 does: install iproute2`);
    for (const { dst, metrics } of answer.data) mtus.set(dst, mtuOf(metrics) ?? 0);
  }
  return mtus;
}

function mtuOf(metrics: z.infer<typeof METRICS>): number | undefined {
  return metrics.find(({ mtu }) => mtu !== undefined)?.mtu;
}
