/** The host's metrics beside those of the real node_exporter, on the same machine at the same time. */
import { spawnSync } from 'node:child_process';
import { createExporter } from '../../../../agent/observability/metrics/host/exporter.ts';
import { startNodeExporter } from '../../../../bench/peers/node-exporter.ts';
import { samplesOf, type Sample } from '../../../../transport/net/exposition/samples.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { peerPath } from '../../../support/run/peers.ts';
import type { Scope } from '../../../support/scope.ts';
import { DASHBOARD_NAMES } from '../../../support/observability/dashboard-names.ts';

const test = await peerTest('prometheus-node-exporter', 'promtool');

/** Families that tell of the exporter itself, which is another program. */
const OWN = /^(?:process_|node_scrape_collector_|node_exporter_build_info|go_|promhttp_)/u;

/** Rounds until every value was seen to agree: some change between two looks. */
const ROUNDS_MAX = 40;

/** Shares of the dashboard that are promised. Source: docs/performance.md. */
const SHARE_MIN = 0.9;

interface Exposed {
  readonly text: string;
  readonly types: ReadonlyMap<string, string>;
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
}

const scrapeOurs = createExporter({ version: '1.2.3' });

test('families that both serve have the same type and the same labels', async (t) => {
  const scrapeTheirs = await startTheirs(t);
  const [theirs, ours] = [exposed(await scrapeTheirs()), exposed(await scrapeOurs())];

  const both = [...theirs.types.keys()].filter((name) => ours.types.has(name));
  t.true(both.length > 200, String(both.length));
  t.deepEqual(
    both.map((name) => [name, ours.types.get(name), labelNames(ours, name)]),
    both.map((name) => [name, theirs.types.get(name), labelNames(theirs, name)]),
  );
});

test('samples that both serve have the same value, or one between two looks at the other', async (t) => {
  const scrapeTheirs = await startTheirs(t);
  const open = new Map<string, string>();
  const agreed = new Set<string>();
  for (let round = 0; round < ROUNDS_MAX && (round === 0 || open.size > 0); round += 1) {
    const [before, ours, after] = [
      byLabels(exposed(await scrapeTheirs())),
      byLabels(exposed(await scrapeOurs())),
      byLabels(exposed(await scrapeTheirs())),
    ];
    for (const [key, first] of before) {
      const last = after.get(key);
      if (last === undefined || agreed.has(key)) continue; // an interface that went away
      const value = ours.get(key);
      const isBetween =
        value !== undefined &&
        value >= Math.min(first, last) - precision(first) &&
        value <= Math.max(first, last) + precision(last);
      if (isBetween) {
        agreed.add(key);
        open.delete(key);
      } else {
        open.set(key, `${key}: ${value}, not between ${first} and ${last}`);
      }
    }
  }

  t.deepEqual([...open.values()], []);
  t.true(agreed.size > 300, String(agreed.size));
});

test("nine tenths of what the community's dashboard gets from node_exporter on this machine it gets from us", async (t) => {
  const scrapeTheirs = await startTheirs(t);
  const [theirs, ours] = [exposed(await scrapeTheirs()), exposed(await scrapeOurs())];

  const wanted = DASHBOARD_NAMES.filter((name) => theirs.samples.has(name));
  const missing = wanted.filter((name) => !ours.samples.has(name));
  t.log(
    `${wanted.length - missing.length} of ${wanted.length}; of all ${DASHBOARD_NAMES.length} names ours serves ${DASHBOARD_NAMES.filter((name) => ours.samples.has(name)).length}; missing: ${missing.join(' ')}`,
  );
  t.true(wanted.length > 100);
  t.true(1 - missing.length / wanted.length >= SHARE_MIN, missing.join(' '));
});

test('promtool has nothing against our text that it has not against that of node_exporter', async (t) => {
  const scrapeTheirs = await startTheirs(t);
  const [theirs, ours] = [exposed(await scrapeTheirs()), exposed(await scrapeOurs())];
  const promtool = await peerPath('promtool');

  const known = new Set(problemsOf(promtool, theirs.text));
  const problems = problemsOf(promtool, ours.text).filter((problem) => !known.has(problem));
  // node_exporter names all counters of the protocols as the kernel does. These it does not serve, or since later
  // versions.
  t.deepEqual(
    problems.toSorted(),
    ['TcpExt_TCPOFOQueue', 'TcpExt_TCPRcvQDrop', 'Tcp_MaxConn'].map(
      (name) => `node_netstat_${name} metric names should be written in 'snake_case' not 'camelCase'`,
    ),
  );
  t.deepEqual(problemsOf(promtool, 'up 1\nup{ 1\n').length, 1, 'promtool looks');
});

/** Starts node_exporter for one test, and returns what scrapes it. */
async function startTheirs(scope: Scope): Promise<() => Promise<string>> {
  const exporter = await startNodeExporter(await peerPath('prometheus-node-exporter'));
  scope.teardown(() => exporter.end());
  return async () => (await fetch(exporter.url)).text();
}

function exposed(text: string): Exposed {
  const types = new Map(
    [...text.matchAll(/^# TYPE (?<name>\S+) (?<type>\S+)$/gmu)].map(({ groups }) => [
      groups?.['name'] ?? '',
      groups?.['type'] ?? '',
    ]),
  );
  return { text, types, samples: samplesOf(text, new Set(types.keys())) };
}

function labelNames({ samples }: Exposed, name: string): string {
  return [...new Set((samples.get(name) ?? []).flatMap(({ labels }) => [...labels.keys()]))].toSorted().join(' ');
}

/** Values by name and labels, in whatever order these are written. */
function byLabels({ samples }: Exposed): Map<string, number> {
  return new Map(
    [...samples]
      .filter(([name]) => !OWN.test(name) && isServed(name))
      .flatMap(([name, all]) =>
        all.map(
          ({ labels, value }) =>
            [`${name} ${JSON.stringify([...labels].toSorted(([a], [b]) => (a < b ? -1 : 1)))}`, value] as const,
        ),
      ),
  );
}

/** What ours does not have at all is the other test's business. */
function isServed(name: string): boolean {
  return !/^node_(?:timex|textfile|selinux|systemd|xfs|btrfs|zfs|nfsd?|dmi|nvme|rapl|bonding|ipvs|infiniband|fibrechannel|tape|bcache)_/u.test(
    name,
  );
}

/** What two ways of dividing may differ by. */
function precision(value: number): number {
  return Math.abs(value) * 1e-9;
}

/** Lines of `promtool check metrics`. */
function problemsOf(promtool: string, text: string): string[] {
  const { stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], { input: text, encoding: 'utf8' });
  return `${stdout}\n${stderr}`.split('\n').filter((line) => line !== '');
}
