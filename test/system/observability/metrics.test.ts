/** Metrics of real agents, through a real admin. */
import test from 'ava';
import { NodeMetricsHistoryResource } from '../../../actors/resources/node-metrics.ts';
import type { HistoryRow } from '../../../cli/output/node-history.ts';
import { startEdge } from '../../support/edge-program.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { hostileAgent } from '../../support/net/hostile-tunnel.ts';
import { isCrowded, scaled } from '../../support/busy.ts';
import { until } from '../../support/until.ts';

/** As long as this machine takes for an honest agent. */
const SCRAPE_MS_MAX = scaled(1_500);
const fleet = sharedFleet(test, { agents: 1, env: { METRICS_SCRAPE_TIMEOUT_MS: `${SCRAPE_MS_MAX}` } });
const byKey = { headers: { authorization: `Bearer ${FLEET_KEYS.METRICS_KEY}` } };
const url = () => fleet().admin().url;

test.serial('the metrics of a node come through the admin, from all three sources', async (t) => {
  const node = fleet().agent().node;

  const answers = await Promise.all(
    ['host', 'agent', 'wireguard'].map((source) =>
      // the time of one scrape is short: on a busy machine it is asked again
      until(`the metrics of ${source}`, async () => {
        const answer = await fetch(`${url()}/api/v1/nodes/${node}/metrics/${source}/raw`, byKey);
        const text = await answer.text();
        if (answer.status === 503) throw new Error(text);
        return { status: answer.status, type: answer.headers.get('content-type'), text };
      }),
    ),
  );

  t.deepEqual(
    answers.map(({ status, type }) => [status, type]),
    Array.from({ length: 3 }, () => [200, 'text/plain; version=0.0.4; charset=utf-8']),
    JSON.stringify(answers),
  );
  t.regex(answers[0]?.text ?? '', /^node_load1 /mu);
  t.regex(answers[1]?.text ?? '', /^edge_agent_info\{version="/mu);
});

test.serial('edge node metrics shows what is known, one value a line, and takes the key of metrics', async (t) => {
  const node = fleet().agent().node;
  const edge = (key: string, ...words: readonly string[]) =>
    startEdge(['node', 'metrics', node, ...words], { EDGE_URL: url(), EDGE_API_KEY: key }).ended;

  const { status, stdout } = await edge(FLEET_KEYS.METRICS_KEY);
  t.is(status, 0);
  t.regex(stdout, /^host\.cpu\.cores +\d+$/mu);
  t.regex(stdout, /^agent\.oban_queues\.0\.queue +commands$/mu);
  t.notRegex(stdout, /pulls_total/u);
  t.true(
    (
      JSON.parse((await edge(FLEET_KEYS.METRICS_KEY, '-o', 'json')).stdout) as {
        readonly host: { readonly available: boolean };
      }
    ).host.available,
  );
  t.is((await edge(FLEET_KEYS.API_KEY)).status, 3);
});

test.serial('what a machine measured lately is kept by its agent, which begins anew when it starts anew', async (t) => {
  const { node } = fleet().agent();
  const path = `/nodes/${node}/metrics/history`;
  const points = (least: number) =>
    until(`${least} points of a history`, async () => {
      const told = await fleet().rest.get<NodeMetricsHistoryResource>(path);
      return told.at.length >= least && told;
    });
  const kept = await points(2);

  t.true(NodeMetricsHistoryResource.safeParse(kept).success);
  t.like(kept, { node_id: node, interval_seconds: 15 });
  const ages = kept.at.map((at) => Date.parse(kept.timestamp) - Date.parse(at));
  t.true(
    ages.every((age, place) => age >= 0 && age < (ages[place - 1] ?? Infinity)),
    JSON.stringify(ages),
  );
  t.is(kept.cpu_percent[0], null, 'nothing rose before it');
  t.true((kept.cpu_percent[1] ?? -1) >= 0 && (kept.memory_percent[1] ?? 0) > 0 && (kept.agent_bytes[1] ?? 0) > 1e6);

  const edge = (key: string, ...words: readonly string[]) =>
    startEdge(['node', 'metrics', node, '--history', ...words], { EDGE_URL: url(), EDGE_API_KEY: key }).ended;
  const shown = await edge(FLEET_KEYS.METRICS_KEY);
  t.is(shown.status, 0, shown.stderr);
  t.regex(shown.stdout, /^TIME +CPU +LOAD +MEMORY +DISK +RECEIVED +SENT +AGENT\n\d{4}-\d\d-\d\dT\S+ /u);
  const rows = JSON.parse((await edge(FLEET_KEYS.METRICS_KEY, '-o', 'json')).stdout) as readonly HistoryRow[];
  t.true(rows.length >= 2 && (rows[1]?.memory_percent ?? 0) > 0);
  t.is((await edge(FLEET_KEYS.API_KEY)).status, 3);

  const restartedMs = Date.now();
  await fleet().agent().kill();
  fleet().agent().start();
  await fleet().agent().live();
  const anew = await points(1);
  t.true(Date.parse(anew.at[0] ?? '') >= restartedMs, 'what was before is gone');
});

test.serial(
  'an agent that opens its tunnel and then says no word of HTTP/2, or floods it, is a 503 in time; the others answer',
  async (t) => {
    const honest = fleet().agent().node;
    for (const play of ['silence', 'flood'] as const) {
      const agent = await hostileAgent(t, fleet());
      agent.onTunnel = (tunnel) => {
        if (play === 'flood') void tunnel.flood(Buffer.alloc(65_536, 0xab), 3_000);
      };
      const beganMs = performance.now();

      const lying = fetch(`${url()}/api/v1/nodes/${agent.node_id}/metrics/host/raw`, byKey);
      // its own time is as short: on a busy machine it is asked again
      await until('the metrics of the other', async () => {
        const other = await fetch(`${url()}/api/v1/nodes/${honest}/metrics/host/raw`, byKey);
        return other.status === 200 || (t.true(isCrowded(), await other.text()), false);
      });
      const answer = await lying;
      t.is(answer.status, 503, play);
      t.regex(
        ((await answer.json()) as { readonly error: { readonly message: string } }).error.message,
        new RegExp(`not answer within ${SCRAPE_MS_MAX} ms|not connected`, 'u'),
      );
      t.true(performance.now() - beganMs < scaled(4_000));
    }
  },
);
