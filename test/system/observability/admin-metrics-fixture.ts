/** A fleet whose admin is scraped, and what happens there held against what was counted. */
import { isDeepStrictEqual } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { FLEET_KEYS, type Fleet } from '../../support/fleet.ts';
import { seriesOf } from '../../support/observability/series.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';

/** An id of nothing. */
export const NOBODY = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01';

/** Where the metrics are text. */
export const RAW = '/api/v1/admins/me/metrics/raw';

/** Samples by their whole name. */
export type Series = Readonly<Record<string, number>>;

/** The name of the sample that counts answers. */
export const requests = (surface: string, operation: string, code: string): string =>
  `edge_admin_request_duration_seconds_count{surface="${surface}",operation="${operation}",code="${code}"}`;

/** What the tests of these metrics share. */
export class AdminMetricsFixture {
  readonly fleet: () => Fleet;
  /** Everything that was scraped, in order. */
  readonly history: Series[] = [];

  /** The fleet starts before the tests of this file. */
  constructor() {
    const env = { WEBHOOK_ALLOW_PRIVATE_IPS: 'true', EXECUTION_RETENTION_DAYS: '1' };
    this.fleet = sharedFleet(test, { agents: 2, env });
  }

  ask(path: string, key: string | null = FLEET_KEYS.METRICS_KEY, method = 'GET'): Promise<Response> {
    const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
    return fetch(this.fleet().admin().url + path, { method, headers });
  }

  async scraped(): Promise<Series> {
    const series = seriesOf(await (await this.ask(RAW)).text());
    this.history.push(series);
    return series;
  }

  /** What happens raises these samples by exactly these numbers. */
  async raises(t: ExecutionContext, risen: Series, happens: () => Promise<unknown>): Promise<void> {
    const before = await this.scraped();
    await happens();
    const risenBy = async () => {
      const after = await this.scraped();
      return Object.fromEntries(Object.keys(risen).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]));
    };
    // what is open may be more for a moment, or not be less yet
    await until('everything to be counted', async () => {
      const now = await risenBy();
      if (isDeepStrictEqual(now, risen)) return true;
      throw new Error(JSON.stringify(now));
    });
    t.deepEqual(await risenBy(), risen);
  }
}
