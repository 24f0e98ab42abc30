/** A fleet whose admin is scraped, and what happens there held against what was counted. */
import test, { type ExecutionContext } from 'ava';
import { FLEET_KEYS, type Fleet } from '../../support/fleet.ts';
import { Scraper, type Series } from '../../support/observability/rises.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';

/** An id of nothing. */
export const NOBODY = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01';

/** Where the metrics are text. */
export const RAW = '/api/v1/admins/me/metrics/raw';

/** The name of the sample that counts answers. */
export const requests = (surface: string, operation: string, code: string): string =>
  `edge_admin_request_duration_seconds_count{surface="${surface}",operation="${operation}",code="${code}"}`;

/** What the tests of these metrics share. */
export class AdminMetricsFixture {
  readonly fleet: () => Fleet;
  readonly scraper = new Scraper(async () => (await this.ask(RAW)).text());

  /** The fleet starts before the tests of this file. */
  constructor() {
    const env = { WEBHOOK_ALLOW_PRIVATE_IPS: 'true', EXECUTION_RETENTION_DAYS: '1' };
    this.fleet = sharedFleet(test, { agents: 2, env });
  }

  ask(path: string, key: string | null = FLEET_KEYS.METRICS_KEY, method = 'GET'): Promise<Response> {
    const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
    return fetch(this.fleet().admin().url + path, { method, headers });
  }

  scraped(): Promise<Series> {
    return this.scraper.scraped();
  }

  /** What happens raises these samples by exactly these numbers. */
  async raises(t: ExecutionContext, risen: Series, happens: () => Promise<unknown>): Promise<void> {
    t.deepEqual(await this.scraper.risen(risen, happens), risen);
  }
}
