/** Readings of an admin of which everything was asked: the largest exposition that there can be. */
import { catalogue } from '../../api/catalogue.ts';
import type { Readings } from '../../api/metrics/family.ts';
import { createRequestTimes } from '../../api/metrics/request-times.ts';
import { NO_ROWS, restingReadings } from '../../test/support/observability/metric-sources.ts';

/** Every operation on every surface, with every outcome. */
export function busyReadings(): Readings {
  const requests = createRequestTimes();
  for (const operation of Object.keys(catalogue)) {
    for (const surface of ['rest', 'trpc', 'mcp'] as const) {
      for (const code of ['2xx', '4xx', '5xx'] as const)
        for (const ms of [1, 20, 300]) requests.observe(surface, operation, code, ms);
    }
  }
  return { version: '0.0.0', name: 'bench', live: restingReadings(), totals: NO_ROWS, requests: requests.all() };
}
