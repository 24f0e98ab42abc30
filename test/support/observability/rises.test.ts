/** What a scrape that comes amid something may show is no fault of it. */
import test from 'ava';
import { Scraper } from './rises.ts';

const [DELIVERED, PENDING] = ['deliveries_total{outcome="2xx"}', 'deliveries_pending'];

/** One that is answered so, and then as last. */
function scraperOf(...answers: readonly (readonly [delivered: number | null, pending: number | null])[]): Scraper {
  let asked = 0;
  return new Scraper(() => {
    const [delivered, pending] = answers[Math.min(asked, answers.length - 1)] ?? [null, null];
    asked += 1;
    return Promise.resolve(
      `${delivered === null ? '' : `${DELIVERED} ${delivered}\n`}${pending === null ? '' : `${PENDING} ${pending}\n`}`,
    );
  });
}

const happens = (): Promise<void> => Promise.resolve();

test('rows that are older than the counters beside them, or were not counted, are looked at again', async (t) => {
  const scraper = scraperOf([0, 0], [1, null], [1, 1], [1, 0]);

  const wanted = { [DELIVERED]: 1, [PENDING]: 0 };
  t.deepEqual(await scraper.risen(wanted, happens), wanted);
  t.is(scraper.history.length, 5, 'twice in a row');
});

test('it begins when all rows are counted; a counter that is not there has counted nothing', async (t) => {
  const scraper = scraperOf([null, null], [null, 1], [1, 0]);

  const wanted = { [DELIVERED]: 1, [PENDING]: -1 };
  t.deepEqual(await scraper.risen(wanted, happens), wanted);
});

test('what was as wanted for one scrape alone is waited for again', async (t) => {
  const scraper = scraperOf([0, 0], [1, 0], [1, 1], [1, 0]);

  const wanted = { [DELIVERED]: 1, [PENDING]: 0 };
  t.deepEqual(await scraper.risen(wanted, happens), wanted);
  t.is(scraper.history.length, 5);
});
