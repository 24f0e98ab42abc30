/** `edge ping`. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Command as Program } from 'commander';
import { positiveInteger } from '../arguments.ts';
import type { Api, Node } from '../service/client.ts';
import { durationMs } from '../duration.ts';
import { nodeIdOf, ofNode } from '../names/node-names.ts';
import { write } from '../output/output.ts';
import { EXIT, Problem, problemOf } from '../problem.ts';
import { dial, PortRefused } from '../reach/dial.ts';
import { checkedHostName, checkedPort } from '../reach/host-names.ts';
import { proxyOf, SELF_USERNAME, type Proxy } from '../reach/proxy.ts';
import { toldPortsOf } from '../reach/told-ports.ts';
import { sessionOf } from '../service/session.ts';
import { isForPeople } from '../table/format.ts';
import { ageText } from '../table/ages.ts';
import { plainText } from '../output/plain-text.ts';

/** Tries when nothing is said. */
const COUNT_DEFAULT = 4;

interface PingFlags {
  readonly count: number;
  readonly interval: string;
}

/** One try: how long until a stream to the machine was open, or why it never was. */
interface Try {
  readonly ms: number | null;
  readonly problem: string | null;
}

const HELP = `
A try opens a stream to the machine by way of the admin, as edge ssh and edge forward do, and closes it.

Exit status: 0 all answered, 1 some did not; 2, 3, 4 as of edge.`;

/** How far away a machine is, and by which way. */
export function addPingCommand(program: Program): void {
  program
    .command('ping <node>')
    .description('measure the way to a node: whether it answers, how fast, and how the VPN gets to it')
    .option('-c, --count <n>', 'how many tries', positiveInteger, COUNT_DEFAULT)
    .option('--interval <duration>', 'between two tries', '1s')
    .addHelpText('after', HELP)
    .action(async (name: string, flags: PingFlags, command: Program) => {
      const intervalMs = durationMs(flags.interval, '--interval');
      const { api, connection, format, record } = sessionOf(command);
      const proxy = await proxyOf(connection, process.env, () => toldPortsOf(api));
      const node = await ofNode(name, nodeIdOf(api, name), (id) => api.get_node.query({ id }));
      if (isForPeople(format)) await write(`${plainText(wayText(node))}\n`);

      const tries: Try[] = [];
      for (let number = 1; number <= flags.count; number += 1) {
        if (number > 1) await wait(intervalMs);
        const one = await tryOnce(proxy, node, connection);
        tries.push(one);
        if (isForPeople(format)) await write(`${number}  ${plainText(one.problem ?? `${one.ms ?? 0} ms`)}\n`);
      }
      const result = resultOf(tries);
      await (isForPeople(format)
        ? write(`${sumText(result)}\n`)
        : record({ node_id: node.id, status: node.status, vpn: node.status_evidence?.vpn ?? null, ...result }));
      process.exitCode = result.answered === result.tried ? EXIT.ok : EXIT.failed;
    });
}

async function tryOnce(
  proxy: Proxy,
  node: Awaited<ReturnType<Api['get_node']['query']>>,
  asked: Parameters<typeof problemOf>[1],
): Promise<Try> {
  const startedMs = performance.now();
  try {
    const socket = await dial(proxy, {
      username: SELF_USERNAME,
      host: checkedHostName(node.vpn_hostname),
      port: checkedPort(node.http_port),
    });
    socket.destroy();
    return { ms: Math.round(performance.now() - startedMs), problem: null };
  } catch (error) {
    // it was there to do so
    if (error instanceof PortRefused) return { ms: Math.round(performance.now() - startedMs), problem: null };
    const problem = problemOf(error, asked);
    if (error instanceof Problem && error.status === EXIT.auth) throw error;
    return { ms: null, problem: problem.message };
  }
}

interface Result {
  readonly tried: number;
  readonly answered: number;
  readonly min_ms: number | null;
  readonly mean_ms: number | null;
  readonly max_ms: number | null;
}

function resultOf(tries: readonly Try[]): Result {
  const times = tries.flatMap(({ ms }) => ms ?? []);
  const isAny = times.length > 0;
  return {
    tried: tries.length,
    answered: times.length,
    min_ms: isAny ? Math.min(...times) : null,
    mean_ms: isAny ? Math.round(times.reduce((sum, ms) => sum + ms, 0) / times.length) : null,
    max_ms: isAny ? Math.max(...times) : null,
  };
}

function sumText({ tried, answered, min_ms: min, mean_ms: mean, max_ms: max }: Result): string {
  return `${answered} of ${tried} answered${min === null ? '' : `, ${min} ms at least, ${mean ?? 0} ms in the mean, ${max ?? 0} ms at most`}`;
}

/** The machine, and how the VPN gets to it: as it was when its status last changed. */
function wayText({ name, vpn_hostname: host, status, status_evidence: evidence }: Node): string {
  if (evidence?.vpn == null) return `${name} (${host}), ${status}, not in the VPN`;
  return `${name} (${host}), ${status}, VPN ${evidence.vpn.path} as of ${String(ageText(evidence.observed_at, Date.now()))} ago`;
}
